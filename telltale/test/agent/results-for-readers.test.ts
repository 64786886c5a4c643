import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { type Ran, runAgent, tool } from './run-agent.ts';
import { type Deed, speak } from './speak.ts';

const DIALECTS = ['tags', 'tools', 'step'] as const;
const TOOLS =
  'import: { tools: ["builtin:filesystem", "builtin:shell"] }\npermissions: { paths: [.], shell: allow }\n';

interface Setting {
  readonly files?: Readonly<Record<string, string>>;
  readonly manifest?: string;
}

/** Runs these turns, then one that ends the work; gives the last prompt as `news`. */
async function told(
  dialect: (typeof DIALECTS)[number],
  turns: readonly (readonly Deed[])[],
  { files = {}, manifest = TOOLS }: Setting = {},
): Promise<Ran & { readonly news: string }> {
  const ran = await runAgent({
    manifest: `dialect: ${dialect}\n${manifest}`,
    files,
    clock: createSimulatedClock(), // turns wait for their actions, however long they take
    turns: [...turns, [{ respond: 'Done.' }]].map((deeds) => speak(dialect, deeds)),
  });
  return { ...ran, news: ran.prompts.at(-1) ?? '' };
}

const fs = (id: string, input: Record<string, string | number | boolean>): Deed => ({
  call: 'filesystem',
  input,
  run: { id },
});
const sh = (id: string, command: string, more: Record<string, boolean> = {}): Deed => ({
  call: 'shell',
  input: { command, ...more },
  run: { id },
});

describe.each(DIALECTS)('in the dialect %s', (dialect) => {
  // The answer to a native call names only what went wrong.
  const ok = dialect === 'tools' ? '' : ' name="\\w+" status="ok" ms="\\d+"';

  it('a file is shown with line numbers, and a reference to it has its text', async () => {
    const content = 'one\n\t"two"\n\nfour\n';
    const { news, of, folder } = await told(
      dialect,
      [
        [
          fs('whole', { operation: 'read', path: 'a.txt' }),
          fs('some', { operation: 'read', path: 'a.txt', offset: 2, limit: 2 }),
          fs('copy', { operation: 'write', path: 'b.txt', content: '$whole.content' }),
        ],
      ],
      { files: { 'a.txt': content } },
    );
    expect(news).toMatch(new RegExp(`<result id="whole"${ok}>\n1\tone\n2\t\t"two"\n3\t\n4\tfour\n</result>`));
    expect(news).toMatch(/<result id="some" [^>]*lines="2-3 of 4">\n2\t\t"two"\n3\t\n<\/result>/);
    expect(readFileSync(join(folder, 'b.txt'), 'utf8')).toBe(content);
    expect(of('action.completed').find(({ id }) => id === 'whole')?.output).toMatchObject({ content });
  });

  it('what a command printed is shown as it printed it, with the exit code in the tag, also where it failed', async () => {
    const { news } = await told(dialect, [
      [
        sh('fine', `printf 'a "b"\\n\\tc\\n'`),
        sh('both', 'echo out; echo err >&2; exit 3'),
        sh('allowed', 'echo no; exit 4', { allow_failure: true }),
        sh('quiet', 'true'),
        sh('killed', 'echo half; kill -9 $$'),
      ],
    ]);
    expect(news).toMatch(new RegExp(`<result id="fine"${ok} exit="0">\na "b"\n\tc\n</result>`));
    expect(news).toMatch(
      /<result id="both" [^>]*status="error"[^>]* exit="3">\nout\nstderr:\nerr\n<\/result>/,
    );
    expect(news).toMatch(new RegExp(`<result id="allowed"${ok} exit="4">\nno\n</result>`));
    expect(news).toMatch(/<result id="quiet"[^>]* exit="0">\(no output\)<\/result>/);
    expect(news).toMatch(
      /<result id="killed" [^>]*status="error"[^>]*(?:signal="SIGKILL"|exit="137")>\nhalf\n/,
    );
  });

  it('32 KiB of a result are shown unless limits.result says otherwise, and read_output shows the rest', async () => {
    const lines = Array.from({ length: 9000 }, (_, index) => `line ${index + 1}`).join('\n');
    const files = { 'big.txt': lines };
    const read = [sh('big', 'cat big.txt')];
    const { news } = await told(dialect, [read], { files });
    const [, left = '', offset = ''] =
      /\[… (\d+) characters left out; read_output with \{"id": "big", "offset": (\d+)\} shows them …\]/.exec(
        news,
      ) ?? [];
    expect(Number(left)).toBe(lines.length - 32 * 1024);
    expect(news).toContain(` truncated="${left}"`);
    const page: Deed = {
      call: 'read_output',
      type: 'internal',
      input: { id: 'big', offset: Number(offset) },
      run: { id: 'page' },
    };
    const more = await told(dialect, [read, [page]], { files });
    const next = Number(offset) + 32 * 1024;
    expect(more.news).toContain(` offset="${offset}" next_offset="${next}" total="${lines.length}"`);
    expect(more.news).toContain(
      `[… ${lines.length - next} characters left; read_output with {"id": "big", "offset": ${next}} shows them …]`,
    );
    const small = await told(dialect, [read], {
      files,
      manifest: `${TOOLS}limits: { result: 2KiB }\n`,
    });
    expect(small.news).toContain(` truncated="${lines.length - 2048}"`);
  });

  it('a long file keeps its line numbers behind what is left out, and in what read_output shows', async () => {
    const lines = Array.from({ length: 500 }, (_, index) => `row ${index + 1}`);
    const setting = {
      files: { 'big.txt': `${lines.join('\n')}\n` },
      manifest: `${TOOLS}limits: { result: 1KiB }\n`,
    };
    const read = [fs('big', { operation: 'read', path: 'big.txt' })];
    const { news } = await told(dialect, [read], setting);
    expect(news).toContain('>\n1\trow 1\n2\trow 2\n');
    expect(news).toContain('\n499\trow 499\n500\trow 500\n</result>');
    const shown = Array.from(news.matchAll(/^(\d+)\trow (\d+)$/gm), ([, number, row]) => [number, row]);
    expect(shown.every(([number, row]) => number === row)).toBe(true);
    const offset = Number(/"offset": (\d+)\}/.exec(news)?.[1]);
    const page: Deed = {
      call: 'read_output',
      type: 'internal',
      input: { id: 'big', offset },
      run: { id: 'page' },
    };
    const more = await told(dialect, [read, [page]], setting);
    const first = /<result id="page"[^>]*>\n(\d+)\trow (\d+)\n/.exec(more.news);
    expect(first?.[1]).toBe(first?.[2]);
    expect(Number(first?.[1])).toBeGreaterThan(2);
  });

  it('a file with reserved tags can be edited as it was shown, and keeps its own angles', async () => {
    const page = 'before\n<action type="tool">one</action>\n<p>two</p>\n';
    const { news, folder } = await told(
      dialect,
      [
        [fs('look', { operation: 'read', path: 'page.html' })],
        [
          fs('edit', {
            operation: 'edit',
            path: 'page.html',
            old_text: '&lt;action type="tool">one&lt;/action>',
            new_text: '&lt;action type="tool">1&lt;/action>\n&lt;result>',
          }),
        ],
        [fs('again', { operation: 'read', path: 'page.html' })],
      ],
      { files: { 'page.html': page } },
    );
    expect(news).toMatch(
      /<result id="again"[^>]* escaped="3">\n1\tbefore\n2\t&lt;action type="tool">1&lt;\/action>\n/,
    );
    expect(readFileSync(join(folder, 'page.html'), 'utf8')).toBe(
      'before\n<action type="tool">1</action>\n<result>\n<p>two</p>\n',
    );
  });

  it('what is text in an object is shown as text, and lists of files one per line', async () => {
    const { news } = await told(
      dialect,
      [
        [
          { call: 'note', run: { id: 'note' } },
          fs('list', { operation: 'list', path: 'docs' }),
          fs('glob', { operation: 'glob', pattern: 'docs/*.md' }),
          fs('grep', { operation: 'grep', path: 'docs', pattern: 'tw.' }),
        ],
      ],
      {
        files: {
          'docs/a.md': 'one\ntwo "2"\n',
          'docs/sub/b.md': 'x',
          ...tool('note', 'return { title: "A", body: "first\\n\\"second\\"" };'),
        },
        manifest: `import: { tools: [./tools/*.yml, "builtin:filesystem"] }\npermissions: { paths: [.] }\n`,
      },
    );
    expect(news).toMatch(/<result id="note"[^>]*>\n\{"title":"A"\}\nbody:\nfirst\n"second"\n<\/result>/);
    expect(news).toMatch(/<result id="list"[^>]*>\na\.md \(12 bytes\)\nsub\/\n<\/result>/);
    expect(news).toMatch(/<result id="glob"[^>]*>docs\/a\.md<\/result>/);
    expect(news).toMatch(/<result id="grep"[^>]*>docs\/a\.md:2: two "2"<\/result>/);
  });
});
