import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runAgent } from '../agent/run-agent.ts';
import { call, step } from '../agent/speak.ts';

/**
 * A task done as the prompt of a coding agent says, by somebody who knew nothing else: reading in parallel, a chain in one
 * turn, a reference inside longer text, work in the background, metadata, and the end.
 */
const MANIFEST = `instructions: You fix bugs in a web shop.
metadata:
  fields:
    status: { values: [IDLE, READING, CODING, TESTING], default: IDLE, description: What you are doing }
    progress: { type: number, min: 0, max: 100 }
    files: { type: array, items: { type: string } }
import: { tools: [builtin:filesystem, builtin:shell, builtin:git] }
permissions: { paths: ["."], shell: allow }
`;
const FILES = {
  'total.mjs': 'export const total = (net) => net * 1.19 * 1.19;\n',
  'check.mjs':
    "import { total } from './total.mjs';\nconsole.log(total(100) === 119 ? 'passed' : 'failed');\n",
};
const EDIT = { operation: 'edit', path: 'total.mjs', old_text: ' * 1.19 * 1.19', new_text: ' * 1.19' };
const NOTE = { operation: 'write', path: 'NOTES.md', content: 'The check says: {{test.stdout}}' };
const NOTES = 'I removed the second factor in total.mjs, and the check passes now.';

const TURNS: Readonly<Record<string, readonly string[]>> = {
  tags: [
    `<thought>I read the code first.</thought>
<metadata>{"status": "READING", "progress": 10}</metadata>
<action name="filesystem" id="code">{"operation": "read", "path": "total.mjs"}</action>
<action name="filesystem">{"operation": "glob", "pattern": "*.mjs"}</action>`,
    `<response final="false">The tax is added twice. I fix it.</response>
<metadata>{"status": "CODING"}</metadata>
<action name="shell" id="log" mode="background">{"command": "echo started"}</action>
<action name="filesystem" id="fix">${JSON.stringify(EDIT)}</action>
<action name="shell" id="test" depends_on="fix" timeout="60">{"command": "node check.mjs"}</action>
<action name="filesystem" id="note">${JSON.stringify(NOTE)}</action>`,
    `<metadata>{"status": null, "files": ["total.mjs"]}</metadata>
<response>Fixed: total.mjs added the tax twice.</response>`,
  ],
  tools: [
    [
      call('set_metadata', { status: 'READING', progress: 10 }),
      call('filesystem', { operation: 'read', path: 'total.mjs', _run: { id: 'code' } }),
      call('filesystem', { operation: 'glob', pattern: '*.mjs' }),
    ].join(''),
    [
      call('respond', { text: 'The tax is added twice. I fix it.', final: false }),
      call('set_metadata', { status: 'CODING' }),
      call('shell', { command: 'echo started', _run: { id: 'log', mode: 'background' } }),
      call('filesystem', { ...EDIT, _run: { id: 'fix' } }),
      call('shell', { command: 'node check.mjs', _run: { id: 'test', depends_on: ['fix'], timeout: 60 } }),
      call('filesystem', { ...NOTE, _run: { id: 'note' } }),
    ].join(''),
    [
      call('set_metadata', { status: null, files: ['total.mjs'] }),
      call('respond', { text: 'Fixed: total.mjs added the tax twice.' }),
    ].join(''),
  ],
  step: [
    step({
      thought: 'I read the code first.',
      metadata: { status: 'READING', progress: 10 },
      tool_calls: [
        { name: 'filesystem', input: { operation: 'read', path: 'total.mjs' }, id: 'code' },
        { name: 'filesystem', input: { operation: 'glob', pattern: '*.mjs' } },
      ],
      is_complete: false,
    }),
    step({
      thought: 'The tax is added twice.',
      metadata: { status: 'CODING' },
      tool_calls: [
        { name: 'shell', input: { command: 'echo started' }, id: 'log', mode: 'background' },
        { name: 'filesystem', input: EDIT, id: 'fix' },
        { name: 'shell', input: { command: 'node check.mjs' }, id: 'test', depends_on: ['fix'], timeout: 60 },
        { name: 'filesystem', input: NOTE, id: 'note' },
      ],
      is_complete: false,
      response: 'The tax is added twice. I fix it.',
    }),
    step({
      thought: 'Done.',
      metadata: { status: null, files: ['total.mjs'] },
      notes: NOTES,
      is_complete: true,
      response: 'Fixed: total.mjs added the tax twice.',
    }),
  ],
};

describe('a task done as the prompt of a coding agent says', () => {
  it.each(Object.keys(TURNS))('has no fault in %s, and changes what it should', async (dialect) => {
    const manifest = `dialect: ${dialect}\n${MANIFEST}`;
    const ran = await runAgent({ manifest, files: FILES, turns: TURNS[dialect] ?? [] });
    expect(ran.result).toMatchObject({
      status: 'completed',
      result: 'Fixed: total.mjs added the tax twice.',
    });
    for (const type of ['fault', 'metadata.rejected', 'action.failed', 'action.skipped'] as const)
      expect(ran.of(type), type).toEqual([]);
    expect(readFileSync(join(ran.folder, 'NOTES.md'), 'utf8')).toBe('The check says: passed\n');
    expect(ran.of('action.completed').map(({ id }) => id)).toEqual(
      expect.arrayContaining(['code', 'log', 'fix', 'test', 'note']),
    );
    expect(ran.of('turn.started')).toHaveLength(3);
  });
});
