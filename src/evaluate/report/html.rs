//! A report as one page that needs no network.

use std::fmt::Write;

use super::{Report, plots};

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;\
padding:0 1rem;color:#1b1f24}h1,h2{line-height:1.2}figure{margin:1.5rem 0}svg{max-width:100%;\
height:auto}figcaption{color:#57606a}table{border-collapse:collapse;font-size:.85rem;\
display:block;overflow-x:auto}td,th{padding:.2rem .6rem;border-bottom:1px solid #d0d7de;\
text-align:right}td:first-child,th:first-child{text-align:left}code{background:#f6f8fa}";

pub(super) fn render(report: &Report) -> String {
    let results = &report.results;
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
content=\"width=device-width\"><title>toolscout: tool selection, measured</title><style>{STYLE}\
</style></head><body>\n<h1>Tool selection, measured</h1>\n<p><code>{}</code><br>toolscout {} at {}, \
model {}.</p>\n",
        escaped(&report.command),
        escaped(&results.toolscout),
        escaped(results.commit.as_deref().unwrap_or("an unknown commit")),
        escaped(&results.model),
    );
    for (title, caption, svg) in plots::all(report) {
        let _infallible = writeln!(
            page,
            "<h2>{}</h2>\n<figure>{svg}<figcaption>{}</figcaption></figure>",
            escaped(title),
            escaped(caption)
        );
    }
    page.push_str("<h2>All figures</h2>\n");
    tables(&mut page, &report.to_markdown());
    page.push_str("</body></html>\n");
    page
}

/// The tables of the Markdown page; its lines are our own.
fn tables(page: &mut String, markdown: &str) {
    let mut is_open = false;
    for line in markdown.lines().skip(1) {
        let cells = line.strip_prefix('|').and_then(|line| line.strip_suffix('|'));
        match cells {
            Some(cells) if cells.starts_with("---") => {}
            Some(cells) => {
                let tag = if is_open { "td" } else { "th" };
                page.push_str(if is_open { "<tr>" } else { "<table>\n<tr>" });
                for cell in cells.split('|') {
                    let _infallible = write!(page, "<{tag}>{}</{tag}>", escaped(cell.trim()));
                }
                page.push_str("</tr>\n");
                is_open = true;
            }
            None => {
                if std::mem::take(&mut is_open) {
                    page.push_str("</table>\n");
                }
                match line.strip_prefix("## ") {
                    Some(title) => {
                        let _infallible = writeln!(page, "<h3>{}</h3>", escaped(title));
                    }
                    None if line.is_empty() => {}
                    None => {
                        let _infallible = writeln!(page, "<p>{}</p>", escaped(line));
                    }
                }
            }
        }
    }
    if is_open {
        page.push_str("</table>\n");
    }
}

fn escaped(text: &str) -> String {
    html_escape::encode_text(text).into_owned()
}
