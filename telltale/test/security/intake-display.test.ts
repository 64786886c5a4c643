import { expect, it } from 'vitest';
import { invisibleWarning, visibleText } from '../../src/lib/text.ts';
import { spawned, telltale } from '../cli/spawned.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';

const HIDDEN = 'rm -rf \u202e/tmp/x\u202c a\u200bb \u{e0041}c \u2800d \ufe0fe';
/** What a list of events must not have. A joiner of emoji may stand there. */
const STEERING = /[\u202a-\u202e\u200b\u2800]|[\u{e0000}-\u{e007f}]/u;
// biome-ignore lint/suspicious/noMisleadingCharacterClass: what combines is looked for by itself
const RAW = /[\u202a-\u202e\u200b\u2800\ufe0f]|[\u{e0000}-\u{e007f}]/u;

const files = {
  'agent.yml': `kind: Agent
name: worker
model: scripted:./turns.yml
import: { tools: [./ask.yml] }
permissions: { shell: allow }
`,
  'ask.yml': `kind: Tool
name: ask
parameters: { type: object, properties: { text: { type: string } } }
implementation: { command: [echo, "{text}"] }
approval: always
`,
  'turns.yml': `turns:\n  - |\n    <action id="a1">${JSON.stringify({ name: 'ask', parameters: { text: HIDDEN } })}</action>\n  - |\n    <response final="true">x</response>\n`,
};

it('a question in the terminal and a review on the command line spell out what cannot be seen', async () => {
  const cwd = temporaryProject(files);
  const run = await spawned(['run', 'agent.yml', 'Go'], cwd).ended;
  expect(run.out + run.err).not.toMatch(STEERING);
  const [review] = JSON.parse((await telltale(['reviews', '--json'], cwd)).out) as { review: string }[];
  expect(review).toBeDefined();
  const shown = await telltale(['reviews', 'show', review?.review ?? ''], cwd);
  expect(shown.code).toBe(0);
  for (const mark of ['\\u{202E}', '\\u{200B}', '\\u{E0041}', '\\u{2800}', '\\u{FE0F}'])
    expect(shown.out).toContain(mark);
  expect(shown.out).toMatch(
    /warning: Contains \d+ invisible or direction-changing characters, shown as \\u\{…\}/,
  );
  expect(shown.out).not.toMatch(RAW);
  const listed = await telltale(['reviews'], cwd);
  expect(listed.out).not.toMatch(STEERING);
});

it('what a command prints beside "reviews approve" spells out what cannot be seen, and drops nothing', async () => {
  // A terminal takes this for the title of its window: what stands in it is not seen.
  const hidden = `echo ok\u001b]0;; rm -rf /srv\u0007 \u001b[8m; rm /etc/x\u001b[0m${HIDDEN}\n# plain\nrm second`;
  const cwd = temporaryProject({
    'agent.yml':
      'kind: Agent\nname: worker\nmodel: scripted:./turns.yml\nimport: { tools: [builtin:shell], workflows: [./flow.yml] }\npermissions: { shell: ask, sandbox: "off" }\n',
    'turns.yml': `turns:\n  - ${JSON.stringify(`<action id="a1" mode="sync">${JSON.stringify({ name: 'shell', parameters: { command: hidden } })}</action>`)}\n`,
    'flow.yml':
      'kind: Workflow\nname: flow\ninput: { type: object, properties: { q: { type: string } } }\nsteps:\n  - { name: ask, type: approval, prompt: "Deploy ${input.q}?" }\n',
  });
  const run = await spawned(['run', 'agent.yml', 'Go'], cwd).ended;
  const flow = await spawned(
    ['workflow', 'run', 'agent.yml', 'flow', '--input', JSON.stringify({ q: hidden })],
    cwd,
  ).ended;
  for (const { err } of [run, flow]) {
    expect(err).toContain('asks: ');
    const asked = err.slice(err.indexOf('asks: '), err.indexOf('reviews approve'));
    for (const seen of [
      '\\u{001B}]0;; rm -rf /srv\\u{0007}',
      '[8m; rm /etc/x',
      '⏎ # plain ⏎ rm second',
      '\\u{202E}',
    ])
      expect(asked).toContain(seen);
    expect(asked).toMatch(/warning: Contains \d+ invisible/);
    expect(asked).not.toMatch(RAW);
  }
});

it('text that hides nothing is shown as it is', () => {
  const plain = 'Grüße, 世界 👍\n\tdone — "ok" \u00a0x';
  expect(visibleText(plain)).toBe(plain);
  expect(invisibleWarning(plain)).toBeUndefined();
});

it('every format character, control, separator and filler is spelled out', () => {
  for (const code of [
    0, 7, 0x0d, 0x1b, 0x7f, 0x85, 0xad, 0x061c, 0x115f, 0x180e, 0x200b, 0x200d, 0x200e, 0x2028, 0x2060,
    0x2064, 0x2067, 0x206f, 0x2800, 0x3164, 0xfe0f, 0xfeff, 0xffa0, 0xfff9, 0x1d173, 0xe0001, 0xe0100,
  ]) {
    const character = String.fromCodePoint(code);
    const mark = `\\u{${code.toString(16).toUpperCase().padStart(4, '0')}}`;
    expect(visibleText(`a${character}b`)).toBe(`a${mark}b`);
    expect(invisibleWarning(character)).toContain('Contains 1 invisible or direction-changing character,');
  }
  expect(visibleText('\ud800x')).toBe('\\u{D800}x');
});
