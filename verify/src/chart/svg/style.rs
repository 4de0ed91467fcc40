//! How the parts of a chart look, by light and by dark.

pub(super) const STYLE: &str = "\
text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#24292f}\
.rank{font-weight:bold;font-size:14px;text-anchor:middle}\
.page{fill:#fff}.heading{font-weight:bold;font-size:15px}\
.step{fill:#6e7781;text-anchor:end}\
.lane{stroke:#afb8c1;stroke-width:1.5}\
.dot{fill:#57606a}\
.halo{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}\
.label{text-anchor:middle}\
.control{stroke:#0969da;stroke-width:1.6;fill:none}.control-text{fill:#0550ae}.control-head{fill:#0969da}\
.data{stroke:#1a7f37;stroke-width:2.4;fill:none}.data-text{fill:#116329}.data-head{fill:#1a7f37}\
.transfer{stroke:#8250df;stroke-width:4;fill:none}.transfer-text{fill:#6639ba}.transfer-head{fill:#8250df}\
.hollow{stroke:#fff;stroke-width:1.4;fill:none}\
.sync{stroke:#6e7781;stroke-width:1;fill:none}.sync-text{fill:#57606a;font-size:11px}.sync-head{fill:#6e7781}\
.open{stroke-dasharray:5 4}\
.access{fill:#8250df;stroke:#8250df}.exposure{fill:#bf8700;stroke:#bf8700}\
.fence{fill:#1b7c83;stroke:#1b7c83}.lock{fill:#bf3989;stroke:#bf3989}\
rect.bar{fill-opacity:.28;stroke:none}rect.closed{fill-opacity:.1}\
path.edge{fill:none;stroke-width:1.3}path.closed{stroke-dasharray:3 3}\
.hatch{stroke:#57606a;stroke-width:1.2;stroke-opacity:.5}\
.bar-text{font-size:10.5px;paint-order:stroke;stroke:#fff;stroke-opacity:.7;stroke-width:2.5px}\
.wrong{fill:#cf222e;font-weight:bold}.cross{stroke:#cf222e;stroke-width:2.5;fill:none}\
.late{fill:#bc4c00;font-weight:bold}\
.note{fill:#57606a}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#0d1117}.halo,.bar-text{stroke:#0d1117}\
.step,.note{fill:#9198a1}.lane{stroke:#484f58}.dot{fill:#9198a1}\
.control{stroke:#4493f8}.control-text{fill:#79c0ff}.control-head{fill:#4493f8}\
.data{stroke:#3fb950}.data-text{fill:#56d364}.data-head{fill:#3fb950}\
.transfer{stroke:#a371f7}.transfer-text{fill:#d2a8ff}.transfer-head{fill:#a371f7}.hollow{stroke:#0d1117}\
.sync{stroke:#9198a1}.sync-text{fill:#9198a1}.sync-head{fill:#9198a1}\
.access{fill:#a371f7;stroke:#a371f7}.exposure{fill:#d29922;stroke:#d29922}\
.fence{fill:#39c5cf;stroke:#39c5cf}.lock{fill:#db61a2;stroke:#db61a2}.hatch{stroke:#9198a1}\
.wrong{fill:#ff7b72}.cross{stroke:#ff7b72}.late{fill:#f0883e}}";
