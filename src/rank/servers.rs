//! Stage 1, the score of a server.

use ndarray::{ArrayView1, ArrayView2};

/// s_server = max over a server's texts of cos(query, text), clamped at 0,
/// `[n_servers]` (MCP-Zero §3.2 takes description and summary).
///
/// The clamp is ours: two negative factors must not multiply to a positive.
pub(super) fn scores(texts: &[ArrayView2<'_, f32>], query: &[f32]) -> Vec<f32> {
    let query = ArrayView1::from(query);
    let n_servers = texts.first().map_or(0, ArrayView2::nrows);
    let mut best = vec![0.0_f32; n_servers];
    for text in texts {
        for (best, cosine) in best.iter_mut().zip(text.dot(&query)) {
            *best = best.max(cosine);
        }
    }
    best
}
