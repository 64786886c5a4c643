import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { readTyping } from '../../src/cli/chat/read-typing.ts';
import type { Input, Io, Typing } from '../../src/cli/io.ts';
import { main } from '../../src/cli/main.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { recordedIo } from './recorded-io.ts';

const HOLD = `import { existsSync } from 'node:fs';
export async function run() {
  while (!existsSync(new URL('./go', import.meta.url))) await new Promise((wait) => setTimeout(wait, 5));
  return 'done';
}
`;

/** An agent whose first action lasts until the file `go` is there. */
const project = (approval = 'never') =>
  temporaryProject({
    'agent.yml':
      'kind: Agent\nname: worker\nmodel: scripted:./turns.yml\nimport: { tools: [./hold.yml, ./deploy.yml] }\n',
    'hold.yml': 'kind: Tool\nname: hold\nimplementation: { module: ./hold.mjs }\n',
    'hold.mjs': HOLD,
    'deploy.yml': `kind: Tool\nname: deploy\nimplementation: { module: ./deploy.mjs }\napproval: ${approval}\n`,
    'deploy.mjs': 'export const run = () => "out";\n',
    'turns.yml': `turns: ${JSON.stringify([
      '<action id="h">{"name":"hold"}</action>',
      '<action id="d">{"name":"deploy"}</action>',
      '<response final="true">Done.</response>',
    ])}\n`,
  });

const until = async (isSo: () => boolean) => {
  while (!isSo()) await new Promise((wait) => setTimeout(wait, 5));
};

/** A command on a terminal where `type` is told of the keyboard each time that somebody reads it. */
async function typed(
  argv: readonly string[],
  cwd: string,
  type: (typing: Typing, out: () => string) => Promise<void>,
  more: Partial<Input> = {},
) {
  const recorded = recordedIo({ cwd, terminal: true, lines: [] });
  const stdin: Input = {
    ...recorded.stdin,
    ...more,
    async readTyping(signal, typing) {
      const over = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      await type(typing, recorded.out);
      await over;
    },
  };
  const io: Io = { ...recorded, clock: createSystemClock(), stdin };
  const code = await main(argv, io);
  return { code, out: recorded.out(), err: recorded.err() };
}

const log = async (cwd: string, argv: readonly string[]) => {
  const io = recordedIo({ cwd });
  await main(argv, io);
  return io.out();
};

it('a line typed while the agent works is shown as taken, and the model reads it in its next turn', async () => {
  const cwd = project();
  const { code, out } = await typed(['run', 'agent.yml', 'Go'], cwd, async (typing, shown) => {
    await until(() => shown().includes('type to steer') && shown().includes('▶ h hold'));
    typing.draft('Use ta');
    await until(() => shown().includes('› Use ta'));
    typing.draft('');
    typing.line('Use tabs.');
    await until(() => shown().includes('» message for the next turn: Use tabs.'));
    writeFileSync(join(cwd, 'go'), '');
  });
  expect(code).toBe(0);
  expect(out).toContain('✓ completed');
  expect(await log(cwd, ['logs', 'last', '--json', '--type', 'message.received'])).toContain(
    '"from":"steer","text":"Use tabs."',
  );
  const second = JSON.parse(await log(cwd, ['prompt', 'last', '2', '--json']));
  expect(JSON.stringify(second.messages)).toContain('Use tabs.');
});

it('a question waits until the line in hand is sent, so that the rest of it does not answer', async () => {
  const cwd = project('always');
  const asked: string[] = [];
  let begun = 0;
  const { code, err } = await typed(
    ['run', 'agent.yml', 'Go'],
    cwd,
    async (typing, shown) => {
      if (begun++ > 0) return;
      await until(() => shown().includes('▶ h hold'));
      typing.draft('Is it read');
      writeFileSync(join(cwd, 'go'), '');
      await until(() => shown().includes('a question waits: send or clear your line first'));
      expect(asked).toEqual([]);
      typing.draft('');
      typing.line('Is it ready');
    },
    {
      async readLine() {
        asked.push('asked');
        return 'y';
      },
    },
  );
  expect({ code, asked }).toEqual({ code: 0, asked: ['asked'] });
  expect(err).toContain('tool "deploy" asks for permission');
  expect(begun).toBeGreaterThan(1); // the keyboard is read again behind the question
});

it('in a chat, a command typed meanwhile is answered here and never reaches the agent', async () => {
  const cwd = project();
  const said = ['Go', undefined];
  let begun = 0;
  const { code, out } = await typed(
    ['chat', 'agent.yml'],
    cwd,
    async (typing, shown) => {
      if (begun++ > 0) return;
      await until(() => shown().includes('▶ h hold'));
      typing.line('/status');
      await until(() => /ses_\w+ · \d+ turns? here/.test(shown()));
      typing.line('Faster, please.');
      await until(() => shown().includes('» message for the next turn: Faster, please.'));
      writeFileSync(join(cwd, 'go'), '');
    },
    { readMessage: async () => said.shift() },
  );
  expect(code).toBe(0);
  expect(out).not.toContain('message for the next turn: /status');
});

it('a line that is half typed when a chat asks for the next message is the beginning of that', async () => {
  const cwd = project();
  const begun: (string | undefined)[] = [];
  const said = ['Go', undefined];
  let readings = 0;
  const { code } = await typed(
    ['chat', 'agent.yml'],
    cwd,
    async (typing, shown) => {
      if (readings++ > 0) return;
      await until(() => shown().includes('▶ h hold'));
      typing.draft('And th');
      writeFileSync(join(cwd, 'go'), '');
    },
    {
      async readMessage(_prompt, _signal, draft) {
        begun.push(draft);
        return said.shift();
      },
    },
  );
  expect({ code, begun }).toEqual({ code: 0, begun: ['', 'And th'] });
});

it('the keyboard is read key by key, with editing, and Ctrl-C stays an interrupt', async () => {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const drafts: string[] = [];
  const lines: string[] = [];
  let interrupts = 0;
  const abort = new AbortController();
  const history: string[] = [];
  const reading = readTyping(
    { input: input as never, history, signal: abort.signal, onInterrupt: () => void interrupts++ },
    { draft: (text) => void drafts.push(text), line: (text) => void lines.push(text) },
  );
  input.write('hallo\u007f\u007f\u007f\u007fello\r');
  await until(() => lines.length === 1);
  expect(lines).toEqual(['hello']);
  expect(drafts).toContain('hal');
  expect(drafts.at(-1)).toBe('');
  input.write('one\rtwo\r');
  await until(() => lines.length === 2);
  expect(lines[1]).toBe('one\ntwo');
  input.write('\u0003');
  await until(() => interrupts === 1);
  abort.abort();
  await reading;
  expect(history).toEqual(['one\ntwo', 'hello']);
});
