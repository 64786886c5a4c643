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

/** More code without a tag in it; a comparison here and there. */
export const generalSnippets: readonly Snippet[] = [
  (s) =>
    `import { readFile } from 'node:fs/promises';\n\nexport async function load${number(s)}(path) {\n  const text = await readFile(path, 'utf8');\n  const rows = text.split('\\n').filter((line) => line.trim() !== '');\n  for (let i = 0; i < rows.length; i++) {\n    if (rows[i].startsWith('${name(s)}')) return rows.slice(i, i + ${number(s)});\n  }\n  throw new Error(\`no ${name(s)} in \${path}\`);\n}\n`,
  (s) =>
    `class ${name(s)}Store:\n    """Keeps what was said, by key."""\n\n    def __init__(self, limit=${number(s)}):\n        self.limit = limit\n        self.items = {}\n\n    def put(self, key, value):\n        if len(self.items) >= self.limit:\n            oldest = min(self.items, key=lambda k: self.items[k].at)\n            del self.items[oldest]\n        self.items[key] = value\n        return value\n`,
  (s) =>
    `describe('${name(s)}', () => {\n  it('is charged once', async () => {\n    const ledger = createLedger({ currency: 'EUR', limit: ${number(s)} });\n    await ledger.charge('a', 12.5);\n    await ledger.charge('a', 12.5);\n    expect(ledger.total()).toBe(12.5);\n    expect(ledger.entries).toHaveLength(1);\n  });\n});\n`,
  (s) =>
    `.${name(s)} {\n  display: grid;\n  grid-template-columns: repeat(auto-fill, minmax(${number(s)}px, 1fr));\n  gap: 12px;\n  color: var(--ink, #1c1c1c);\n}\n\n.${name(s)}:hover > .title { text-decoration: underline; }\n`,
];

/** Code as most of it is: plain, with one to three `<` in it that an HTML or XML parser takes for a tag. */
export const lightSnippets: readonly Snippet[] = [
  (s) =>
    `export async function fetch${number(s)}(url: string): Promise<Response> {\n  const started = Date.now();\n  const answer = await fetch(url, { headers: { accept: 'application/json' } });\n  if (!answer.ok) throw new Error(\`${name(s)}: \${answer.status}\`);\n  log.debug('fetched', { url, ms: Date.now() - started });\n  return answer;\n}\n`,
  (s) =>
    `const ${name(s)}ById = new Map<string, number>();\nfor (const row of rows) {\n  const before = ${name(s)}ById.get(row.id) ?? 0;\n  ${name(s)}ById.set(row.id, before + row.cents);\n}\nreturn [...${name(s)}ById.entries()].sort(([, a], [, b]) => b - a).slice(0, ${number(s)});\n`,
  (s) =>
    `#include <stdio.h>\n#include <string.h>\n\nint count_${name(s)}(const char *text, char wanted) {\n  int found = 0;\n  for (size_t i = 0; i < strlen(text); i++) {\n    if (text[i] == wanted) found += 1;\n  }\n  printf("%d of %d\\n", found, ${number(s)});\n  return found;\n}\n`,
  (s) =>
    `impl Ledger {\n    pub fn total(&self, rows: Vec<u64>) -> u64 {\n        let mut sum = 0;\n        for row in rows.iter().take(${number(s)}) {\n            sum += row;\n        }\n        self.audit("${name(s)}", sum);\n        sum\n    }\n}\n`,
  (s) =>
    `@@ -${number(s)},9 +${number(s)},9 @@ export function Panel() {\n   const [open, setOpen] = useState(false);\n   const label = open ? 'close' : 'open';\n   useEffect(() => track('${name(s)}', { open }), [open]);\n-  const items = load('${name(s)}');\n+  const items = useMemo(() => load('${name(s)}'), []);\n   return render(items, { label, onClick: () => setOpen(!open) });\n     </div>\n`,
  (s) =>
    `# ${name(s)}\n\nInstall it, then point it at a folder:\n\n    npx ${name(s)} --out <folder> --limit ${number(s)}\n\nIt reads every file once and writes a report. Nothing is sent anywhere. Options that are not given are taken from the file \`.${name(s)}rc\` beside the package.\n`,
  (s) =>
    `## Calling a tool\n\nThe arguments are one JSON object. The call is over at </action>, so close it before you go on.\nResults come back in the next turn, at most ${number(s)} lines of each, and name the call they belong to.\nIf a call for ${name(s)} failed, say so and try another way.\n`,
  (s) =>
    `public List<String> names(Path folder) throws IOException {\n    try (var files = Files.list(folder)) {\n        return files.map(Path::getFileName).map(Path::toString)\n            .filter(name -> name.endsWith(".${name(s)}"))\n            .limit(${number(s)}).sorted().toList();\n    }\n}\n`,
];
