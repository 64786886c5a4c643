import { describe, expect, it } from 'vitest';
import type { Sessions } from '../../src/agent/open-sessions.ts';
import { sessionRuntimes } from '../../src/cli/command.ts';
import { main } from '../../src/cli/main.ts';
import { signer } from '../../src/cli/program.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { hunks, lineDiff } from '../../src/lib/text.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createArtifacts } from '../../src/tools/artifacts/create-artifacts.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { recordedIo } from './recorded-io.ts';

const GATE = `kind: Artifact
name: gate
description: Decides about releases.
source: |
  export function may(n, context) { return { decision: n > 2, who: context.agent_id, metadata: context.metadata }; }
  export function boom() { throw new Error('no way'); }
  export function ask(context) { return call('other', 'yes'); }
methods: { may: {}, boom: {}, ask: {} }
`;

const clock = createSystemClock();

async function artifact(argv: readonly string[], cwd: string, store?: Store) {
  // Any file will do for the one that a store would be in.
  const env = { USER: 'ann', ...(store === undefined ? {} : { TELLTALE_STORE: import.meta.filename }) };
  const io = { ...recordedIo({ cwd, env }), clock };
  const openSessions = async () => ({ store, close: async () => undefined }) as unknown as Sessions;
  const code = await main(['artifact', ...argv], io, undefined, { ...sessionRuntimes, openSessions });
  return { code, out: io.out(), err: io.err() };
}

describe('telltale artifact test', { timeout: 60_000 }, () => {
  it('asks an artifact of a file, and says what its answer stands for', async () => {
    const cwd = temporaryProject({ 'gate.yml': GATE, 'context.json': '{"agent_id": "bob"}' });
    const { code, out } = await artifact(
      ['test', 'gate.yml', 'may', '--args', '[3]', '--context', '@context.json'],
      cwd,
    );
    expect(code).toBe(0);
    expect(out.replace(/\([\d.]+ m?s\)/, '(N ms)')).toBe(
      '✓ gate.may(3) = {"decision":true,"who":"bob","metadata":{}} (N ms)\n  It stands for true.\n',
    );
    const json = await artifact(
      ['test', 'gate.yml', 'may', '--args', '1', '--context', '{"metadata":{"a":1}}', '--json'],
      cwd,
    );
    expect(JSON.parse(json.out)).toMatchObject({
      artifact: 'gate',
      method: 'may',
      args: [1],
      ok: true,
      meant: false,
      value: { decision: false, who: 'test', metadata: { a: 1 } },
      context: { agent_id: 'test', metadata: { a: 1 } },
    });
  });

  it('ends with 1 where the fallback would count, and says why', async () => {
    const cwd = temporaryProject({ 'gate.yml': GATE });
    const { code, err } = await artifact(['test', 'gate.yml', 'boom'], cwd);
    expect(code).toBe(1);
    expect(err).toMatch(
      /^failed: threw: .*no way.*\n {2}gate\.boom\(\)\n {2}→ In a run, its fallback would be used\.\n$/,
    );
  });

  it('takes a source alone, and names methods where it has to be told one', async () => {
    const cwd = temporaryProject({ 'gate.yml': GATE, 'solo.js': 'export const yes = () => true;' });
    expect((await artifact(['test', 'solo.js', 'yes'], cwd)).out).toContain('✓ solo.yes() = true');
    expect((await artifact(['test', 'solo.js'], cwd)).err).toContain('telltale artifact test solo.js METHOD');
    expect((await artifact(['test', 'gate.yml'], cwd)).err).toContain('→ Name one: may, boom, ask.');
    const wrong = await artifact(['test', 'gate.yml', 'mya'], cwd);
    expect(wrong.code).toBe(2);
    expect(wrong.err).toContain('Did you mean "may"?');
    expect((await artifact(['test', 'none.js', 'x'], cwd)).err).toContain("There is no file 'none.js'.");
    const { err } = await artifact(['test', 'gate.yml', 'may', '--args', '['], cwd);
    expect(err).toContain('--args is not JSON');
    expect(err).toContain(`Write --args '[3, "text"]'`);
  });

  it('refuses a context that no run has, and a text that has nothing to ask', async () => {
    const text = 'kind: Artifact\nname: greeting\nsource: Dear reader\n';
    const cwd = temporaryProject({ 'gate.yml': GATE, 'greeting.yml': text });
    const slip = await artifact(['test', 'gate.yml', 'may', '--context', '{"balnce": 1}'], cwd);
    expect(slip.code).toBe(2);
    expect(slip.err).toContain('→ Did you mean "balance"?');
    expect((await artifact(['test', 'greeting.yml'], cwd)).err).toContain(
      'The artifact "greeting" has no methods. It is the text of a prompt, 11 characters long.',
    );
  });

  it('asks the genesis artifacts by their names, chance by its seed', async () => {
    const cwd = temporaryProject({});
    const decide = async (...more: readonly string[]) =>
      (await artifact(['test', 'genesis_random_decider', 'decide', '--json', ...more], cwd)).out;
    expect(JSON.parse(await decide('--args', '[1]'))).toMatchObject({ ok: true, value: true });
    const seeds = ['a', 'b', 'c', 'd', 'e', 'f'];
    const said = await Promise.all(seeds.map(async (seed) => JSON.parse(await decide('--seed', seed)).value));
    expect(new Set(said)).toEqual(new Set([true, false]));
  });
});

describe('the artifacts of a store', () => {
  async function project() {
    const store = createMemoryStore({ clock });
    const artifacts = createArtifacts({ tables: store.tables, clock, check: async () => undefined });
    const draft = { name: 'gate', methods: ['may'], description: 'Decides.' };
    await artifacts.seed({ ...draft, source: 'a\nb\nc' });
    await artifacts.write({ ...draft, source: 'a\nB\nc' }, 'agent:bot');
    return (argv: readonly string[]) => artifact(argv, '/', store);
  }

  it('are listed, shown, compared and put back', async () => {
    const ask = await project();
    const list = await ask(['list', '--json']);
    expect(JSON.parse(list.out).at(-1)).toMatchObject({
      name: 'gate',
      version: 2,
      author: 'agent:bot',
      parent: 1,
    });
    expect((await ask([])).out).toMatch(/^gate +2 +agent:bot +just now +may +Decides\.$/m);

    const shown = await ask(['show', 'gate', '--version', '1']);
    expect(shown.out).toContain('  version      1 of 2\n  author       manifest\n');
    expect(shown.out).toMatch(/\n\na\nb\nc\n$/);
    expect((await ask(['show', 'gate', '--diff', '1'])).out).toBe(
      'gate: version 1 → 2\n  a\n- b\n+ B\n  c\n',
    );

    const back = await ask(['rollback', 'gate', '1']);
    expect(back.out).toBe('Version 1 of gate is restored as version 3.\n');
    const json = JSON.parse((await ask(['show', 'gate', '--json'])).out);
    expect(json).toMatchObject({ version: 3, restores: 1, author: signer(), source: 'a\nb\nc' });
    expect(json.versions).toHaveLength(3);
    expect((await ask(['show', 'gate', '--diff', '1..3'])).out).toContain('The source is the same.');
  });

  it('that are not there are answered with the nearest', async () => {
    const ask = await project();
    const wrong = await ask(['show', 'gaet']);
    expect(wrong.code).toBe(1);
    expect(wrong.err).toContain('Did you mean "gate"?');
    expect((await ask(['show', 'gate', '--version', '9'])).err).toContain("has no version '9'");
    expect((await ask(['rollback', 'gate', '9'])).code).toBe(1);
    expect((await ask(['show', 'gate', '--diff', 'x'])).code).toBe(2);
    expect((await ask(['shwo'])).err).toContain('Did you mean "show"?');
    expect((await artifact(['list'], temporaryProject())).err).toContain('There is no store');
  });
});

describe('a comparison of lines', () => {
  it('keeps what is the same, and leaves out what is far from a change', () => {
    const before = Array.from({ length: 20 }, (_, at) => `line ${at}`);
    const after = before.with(10, 'other').concat('more');
    const shown = hunks(lineDiff(before.join('\n'), after.join('\n')), 1);
    expect(shown.map((line) => (line === undefined ? '…' : `${line.kind} ${line.text}`))).toEqual([
      '…',
      'same line 9',
      'old line 10',
      'new other',
      'same line 11',
      '…',
      'same line 19',
      'new more',
    ]);
  });
});
