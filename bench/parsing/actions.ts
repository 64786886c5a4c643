import type { JsonObject } from '../../telltale/src/lib/json.ts';
import type { Palette } from './palette.ts';
import { plainSentence } from './prose.ts';
import type { Seeded } from './seeded.ts';

/** What was put into an action's body, to be found again on the other side. */
export interface SaidAction {
  readonly name: string;
  readonly parameters: JsonObject;
}

const FOLDERS = ['src', 'src/api', 'web/components', 'crates/core/src', 'docs', 'tests/größe', 'infra'];
const FILES = [
  'index.ts',
  'card.tsx',
  'lib.rs',
  'main.cpp',
  'orders.sql',
  'README.md',
  'deploy.sh',
  'page.html',
];

const path = (s: Seeded) => `${s.pick(FOLDERS)}/${s.pick(FILES)}`;
// biome-ignore format: one maker a line is the table this is
const makers: readonly ((s: Seeded, palette: Palette) => SaidAction)[] = [
  (s, { code }) => ({ name: 'write_file', parameters: { path: path(s), content: code(s, 1, 9), mode: 0o644 } }),
  (s, { code }) => ({
    name: 'edit_file',
    parameters: { path: path(s), edits: [{ find: `line ${s.between(1, 400)}\n`, replace: code(s, 1, 6), all: s.chance(0.5) }] },
  }),
  (s) => ({
    name: 'run_command',
    parameters: { command: `rg -n "${s.pick(['fn main', 'TODO', 'retry\\('])}" ${path(s)} | head -${s.between(5, 50)}`, cwd: '.', env: { CI: '1', LANG: 'C.UTF-8' } },
  }),
  (s, { ends }) => ({
    name: 'search',
    parameters: { query: plainSentence(s, ends), globs: ['**/*.ts', '!**/dist/**'], limit: s.between(5, 100), after: null },
  }),
  (s) => ({
    name: 'http_request',
    parameters: {
      method: s.pick(['GET', 'POST']),
      url: `https://api.example.com/v1/orders?limit=${s.between(1, 99)}&expand[]=customer&q=caf%C3%A9`,
      headers: { accept: 'application/json', 'x-note': 'say "hi" & go' },
      body: { items: [{ sku: `A-${s.between(100, 999)}`, n: s.between(1, 9), price: s.between(1, 99999) / 100 }], meta: { nested: { deep: [[1, 2], [3, [4, -5e-7]]] }, ok: true } },
    },
  }),
  (s, { ends }) => ({
    name: 'send_message',
    parameters: { to: ['ops@example.com', 'Jürgen'], text: `${plainSentence(s, ends)}\n\n${plainSentence(s, ends)} 🚀👩‍💻\n– bot`, silent: s.chance(0.3) },
  }),
  (s, { code, ends }) => ({
    name: 'create_ticket',
    parameters: { title: plainSentence(s, ends), severity: s.between(1, 4), body: `${plainSentence(s, ends)}\n\n\`\`\`\n${code(s, 1, 1)}\`\`\`\n`, labels: ['bug', 'höchste-priorität', '日本語'] },
  }),
  (s, { ends }) => ({ name: 'remember', parameters: { key: `note.${s.between(1, 5000)}`, value: plainSentence(s, ends), ttl: null } }),
];

/** Twice as many of the kinds that carry code: that is what coding agents mostly write. */
const MIX = [0, 0, 0, 0, 1, 1, 1, 2, 3, 4, 5, 6, 6, 7];

export const sayAction = (palette: Palette, seeded: Seeded): SaidAction =>
  makers[seeded.pick(MIX)]!(seeded, palette);

/** As models write JSON: mostly on one line with spaces, sometimes compact, sometimes indented, sometimes escaped. */
export function writeJson(seeded: Seeded, value: JsonObject): string {
  const style = seeded.between(1, 10);
  const written =
    style <= 5 ? onOneLine(value) : style <= 7 ? JSON.stringify(value) : JSON.stringify(value, null, 2);
  if (seeded.chance(0.06)) return written.replaceAll('</', '<\\/');
  if (seeded.chance(0.06)) return written.replace(/[\u0080-\uffff]/g, escapeUnit);
  return written;
}

const escapeUnit = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Strings hold no raw line break in JSON, so only the indentation between values is replaced. */
const onOneLine = (value: JsonObject): string =>
  JSON.stringify(value, null, 1).replace(/([{[])\n\s*|\n\s*([}\]])|\n\s*/g, (_, open = '', close = '') =>
    open || close ? `${open}${close}` : ' ',
  );
