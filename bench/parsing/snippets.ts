import { plainSentence } from './prose.ts';
import type { Seeded } from './seeded.ts';

/** A piece of code as it stands in a file: real line breaks, real `<`, `&` and quotes. */
type Snippet = (seeded: Seeded) => string;

const NAMES = [
  'order',
  'invoice',
  'session',
  'user',
  'chunk',
  'payload',
  'replica',
  'günstig',
  'token',
  'row',
];
const name = (seeded: Seeded) => seeded.pick(NAMES);
const number = (seeded: Seeded) => seeded.between(2, 999);

/** Code that holds nothing an HTML or XML parser would take for a tag. */
export const plainSnippets: readonly Snippet[] = [
  (s) =>
    `def load_${name(s)}(path: str, limit: int = ${number(s)}):\n    """${plainSentence(s)}"""\n    with open(path, encoding="utf-8") as handle:\n        for index, line in enumerate(handle):\n            if index >= limit or line.startswith("#"):\n                continue\n            yield line.rstrip("\\r\\n").split("\\t")\n`,
  (s) =>
    `#!/usr/bin/env bash\nset -euo pipefail\nfor f in "$HOME"/logs/${name(s)}-*.log; do\n  grep -c 'ERROR' "$f" | awk '{ total += $1 } END { print total }'\n  tail -n ${number(s)} "$f" >> /tmp/out.txt 2>&1\ndone\n`,
  (s) =>
    `SELECT o.id, o.total / 100.0 AS total, c.name\nFROM orders o JOIN customers c ON c.id = o.customer_id\nWHERE o.state = 'open' AND o.total >= ${number(s)}\n  AND c.name LIKE '%${name(s)}%'\nORDER BY o.created_at DESC LIMIT 50;\n`,
  (s) =>
    `package ${name(s)}\n\nimport "fmt"\n\nfunc Retry(times int, f func() error) (err error) {\n\tfor i := 0; i != times; i++ {\n\t\tif err = f(); err == nil {\n\t\t\treturn nil\n\t\t}\n\t\tfmt.Printf("try %d of ${number(s)}: %v\\n", i, err)\n\t}\n\treturn\n}\n`,
  (s) =>
    `server:\n  port: ${number(s)}\n  hosts: ["a.example", "b.example"]\n  greeting: "Grüß Gott, 世界 👋🏽"\n  # ${plainSentence(s)}\n  regex: '^\\d{3}-\\w+$'\n`,
  (s) =>
    `const ${name(s)}s = await db.query('select 1');\nassert.equal(${name(s)}s.length, ${number(s)}, "expected \\"one\\" row");\nconst path = 'C:\\\\temp\\\\new\\\\${name(s)}.txt';\nexport const total = ${name(s)}s.reduce((sum, item) => sum + item.cents, 0) & 0xff;\n`,
];

/** Code that holds what looks like a tag, a reference or a close: where quoting rules are put to the test. */
export const taggedSnippets: readonly Snippet[] = [
  (s) =>
    `export function ${name(s)}Card({ title, items }: Props) {\n  return (\n    <div className="card" data-n={${number(s)}}>\n      <h2>{title}</h2>\n      {items.length > 0 && items.map((item) => <Row key={item.id} {...item} />)}\n      <p>{"a < b && c > d"}</p>\n    </div>\n  );\n}\n`,
  (s) =>
    `<!DOCTYPE html>\n<html lang="de">\n<head><title>${name(s)} &amp; Söhne</title></head>\n<body>\n  <p class='lead'>Preis:&nbsp;${number(s)}&euro; &lt;brutto&gt;<br>\n  <a href="/?a=1&b=2">weiter</a></p>\n  <script>if (a < b && b > 0) { alert("hi"); }</script>\n</body>\n</html>\n`,
  (s) =>
    `use std::collections::HashMap;\n\npub fn index<T: Clone>(rows: &[T]) -> HashMap<usize, Vec<T>> {\n    let mut out: HashMap<usize, Vec<T>> = HashMap::new();\n    for (i, row) in rows.iter().enumerate() {\n        if i < ${number(s)} { out.entry(i % 8).or_default().push(row.clone()); }\n    }\n    out\n}\n`,
  (s) =>
    `#include <vector>\n#include <map>\n\nstd::map<int, std::vector<int>> ${name(s)};\nint main() {\n  for (int i = 0; i < ${number(s)}; ++i) ${name(s)}_[i] << 1;\n  return a<b ? 0 : 1;\n}\n`,
  (s) =>
    `# How to call a tool\n\nWrite one JSON object between the tags:\n\n<action type="tool" id="x${number(s)}">{"name": "${name(s)}", "parameters": {"q": "a"}}</action>\n\nand close with </action> before you go on. A </thought> ends a thought.\n`,
  (s) =>
    `const prompt = [\n  "<thought>${name(s)} first</thought>",\n  '<response final="true">',\n  \`\${${name(s)}} costs \${price}\`,\n  "</response>", "</action>",\n].join("\\n");\nconst cmp = (a: Array<number>, b: Array<number>) => a.length<b.length || a[0]! < ${number(s)};\n`,
  (s) =>
    `--- a/src/${name(s)}.tsx\n+++ b/src/${name(s)}.tsx\n@@ -${number(s)},7 +${number(s)},7 @@\n-    <span>{total}</span>\n+    <span title="${name(s)} 💶">{format(total)}</span>\n     </div>\n   );\n`,
  (s) =>
    `<?xml version="1.0"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n  <entry id="${number(s)}"><title type="text">R&amp;D – ${name(s)}</title>\n    <content><![CDATA[ if (x < y) { z(); } ]]></content>\n  </entry>\n</feed>\n`,
];
