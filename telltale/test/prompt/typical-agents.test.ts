import { platform } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTokenizer } from '../../src/agent/tokenizer.ts';
import { createRuntime, type Runtime } from '../../src/index.ts';
import { createSimulatedClock } from '../../src/testing/index.ts';
import { type Dialect, FOLDER, nativeText, prepared, TYPICAL, typicalAgent } from './typical-agents.ts';

const { count } = await createTokenizer()();
let runtime: Runtime;
beforeAll(async () => {
  const clock = createSimulatedClock(Date.parse('2026-11-19T12:00:00Z'));
  runtime = await createRuntime({ store: 'memory', cwd: FOLDER, clock });
});
afterAll(() => runtime.close());

const PLATFORM = platform() === 'linux' ? 'Linux' : platform() === 'darwin' ? 'macOS' : 'Windows';

/** The prompt of an agent as it would be in another folder on another machine. */
async function promptOf(name: string, dialect: Dialect) {
  const preview = await runtime.preview(await typicalAgent(name, dialect));
  const moved = (text: string) =>
    text.replaceAll(FOLDER, '/work/shop').replace(`Platform: ${PLATFORM}`, 'Platform: Linux');
  const system = preview.system.map((part) => ({ name: part.name, text: moved(part.text) }));
  const tools = preview.tools.map((tool) => ({
    name: tool.name,
    text: JSON.stringify(JSON.parse(tool.text)),
  }));
  return { system, tools };
}

const dialectsOf = (name: string): readonly Dialect[] =>
  name === 'guided' || name === 'coding' ? ['tags', 'tools', 'step'] : ['tags', 'tools'];
const CASES = TYPICAL.flatMap((name) => dialectsOf(name).map((dialect) => [name, dialect] as const));

describe('the prompt of a typical agent', () => {
  it.each(CASES)('%s, in %s, is as the snapshot shows it', async (name, dialect) => {
    const { system, tools } = await promptOf(name, dialect);
    const offered = tools.map(({ text }) => `${JSON.stringify(JSON.parse(text), null, 2)}\n`);
    const whole = `${system.map(({ text }) => text).join('')}\n${offered.length === 0 ? '' : `\n======== tools ========\n\n${offered.join('\n')}`}`;
    await expect(whole).toMatchFileSnapshot(`snapshots/${name}.${dialect}.txt`);
  });

  it('costs what the table says, part by part', async () => {
    const rows: string[] = [];
    for (const [name, dialect] of CASES) {
      const { system, tools } = await promptOf(name, dialect);
      const parts = system.map((part) => `${part.name} ${count(part.text)}`);
      const offered = tools.reduce((sum, { text }) => sum + count(text), 0);
      const total = system.reduce((sum, { text }) => sum + count(text), offered);
      const native = await nativeTokens(name, OWN);
      const bound = dialect === 'step' ? '–' : Math.floor(await boundOf(name, dialect));
      rows.push(
        `| ${name} | ${dialect} | ${total} | ${native} | ${bound} | ${parts.join(', ')}${offered === 0 ? '' : `, native tools ${offered}`} |`,
      );
    }
    const head =
      '| agent | dialect | tokens | the same tools natively | at most | by part |\n| --- | --- | --: | --: | --: | --- |';
    await expect(`${head}\n${rows.join('\n')}\n`).toMatchFileSnapshot('snapshots/tokens.md');
  });

  it.each(CASES.filter(([, dialect]) => dialect !== 'step'))(
    '%s, in %s, costs at most 1.15 times the same tools natively and 400 tokens',
    async (name, dialect) => {
      const { system, tools } = await promptOf(name, dialect);
      const total = [...system, ...tools].reduce((sum, { text }) => sum + count(text), 0);
      expect(total).toBeLessThanOrEqual(await boundOf(name, dialect));
    },
  );

  it('of a coding agent with files, shell, git and three metadata fields has at most 2,000 tokens in tags', async () => {
    const { system } = await promptOf('coding', 'tags');
    expect(system.reduce((sum, { text }) => sum + count(text), 0)).toBeLessThanOrEqual(2_000);
  });
});

/** The runtime's own: nobody would give them to a model natively. */
const OWN: readonly string[] = ['read_output', 'cancel_action', 'respond'];
/** Nor would anybody give a model these, by the stricter reading. */
const OWN_STRICTLY: readonly string[] = [...OWN, 'set_metadata', 'context_feed'];
/** Agents that the stricter bound cannot hold for: docs/decisions/prompt-length.md says why. */
const LENIENT: ReadonlySet<string> = new Set(['research', 'orchestrator', 'data', 'watch']);

const boundOf = async (name: string, dialect: Dialect): Promise<number> => {
  const isStrict = dialect === 'tools' && !LENIENT.has(name);
  return 1.15 * (await nativeTokens(name, isStrict ? OWN_STRICTLY : OWN)) + 400;
};

/**
 * What the same tools cost where they are given natively: the instructions, and the names, descriptions and schemas as
 * they were declared. The runtime's own tools count as they are offered, but for those in `own`.
 */
async function nativeTokens(name: string, own: readonly string[]): Promise<number> {
  const agent = await typicalAgent(name, 'tools');
  const { tools } = await runtime.preview(agent);
  const { targets } = await prepared(agent);
  const declared = new Map(
    targets.filter(({ kind }) => kind !== 'internal').map((target) => [target.name, nativeText(target)]),
  );
  const offered = tools
    .filter((tool) => !own.includes(tool.name))
    .map((tool) => declared.get(tool.name.replace(/^(?:agent|relic|workflow|llm)_/, '')) ?? tool.text);
  return [agent.manifest.instructions, ...offered].reduce((sum, text) => sum + count(text), 0);
}
