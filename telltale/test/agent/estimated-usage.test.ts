import { describe, expect, it } from 'vitest';
import { closingLines } from '../../src/cli/view/closing-lines.ts';
import { stateJson, stateLines } from '../../src/cli/view/state-lines.ts';
import type { SessionState } from '../../src/log/state.ts';
import { plainPalette } from '../../src/manifest/format-diagnostic.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { runAgent } from './run-agent.ts';

const given = { usage: { input: 70, output: 7 } };
const BARE = 'protocol: { bare_text: final }\n';

/** Runs an agent, and says what its state is afterwards. */
async function ended(
  turns: Parameters<typeof scripted>[0],
  scene: { manifest?: string; files?: Record<string, string> } = {},
) {
  const states: SessionState[] = [];
  const run = await runAgent({
    ...scene,
    turns: [],
    model: scripted(turns),
    after: async (id, runtime) => {
      states.push(await runtime.state(id));
    },
  });
  return { ...run, state: states[0] as SessionState };
}

describe('the usage of a result', () => {
  it('is the provider’s where it gave figures of every turn', async () => {
    const { result } = await ended([{ text: 'Seven.', ...given }], { manifest: BARE });
    expect(result.usage).toEqual({ input: 70, output: 7 });
  });

  it('says that a part was estimated, as a turn that is cut at its final response is', async () => {
    const { result, state, of } = await ended([
      { text: '<thought>Hm.</thought>', ...given },
      '<response>Seven.</response>',
    ]);
    expect(of('turn.completed').map(({ usage }) => usage.estimated)).toEqual([undefined, true]);
    expect(result.usage.estimated).toBe(true);
    const tokens = /about [\d,]+ \+ \d+ tokens/;
    expect(stateLines(state, { columns: 80, paint: plainPalette, status: 'completed' }).join('\n')).toMatch(
      tokens,
    );
    expect(stateJson(state, { status: 'completed' })).toMatchObject({ usage: result.usage });
    const times = { workedMs: 1, saved: { early: 0, savedMs: 0 } };
    expect(closingLines(result, times, plainPalette).join('\n')).toMatch(tokens);
  });

  it('says so of what a workflow, its step or a prompt used without figures, too', async () => {
    const calls =
      '<action type="workflow" mode="sync">{"name":"flow"}</action><action type="llm" mode="sync">{"name":"ask"}</action>';
    const { result, of } = await ended(
      [
        { text: calls, ...given },
        { text: 'Done.', ...given },
      ],
      {
        manifest: `${BARE}import: { workflows: [./flow.yml] }\nmodels: { fast: "scripted:./fast.yml" }\nprompts: { ask: { template: How many?, model: fast } }\n`,
        files: {
          'fast.yml': JSON.stringify({ turns: [{ text: 'x'.repeat(100), fail_after: 10 }] }),
          'flow.yml':
            'kind: Workflow\nname: flow\nsteps: [{ name: a, type: llm, prompt: "How many?", model: fast, on_error: continue }]\n',
        },
      },
    );
    expect(of('child.usage')).toMatchObject([{ usage: { estimated: true } }]);
    expect(of('custom')).toMatchObject([{ name: 'llm.usage', data: { estimated: true } }]);
    expect(result).toMatchObject({ status: 'completed', usage: { estimated: true } });
  });

  it('counts the reasoning of a prompt that gave no figures', async () => {
    const { of } = await ended(['<action type="llm" mode="sync">{"name":"ask"}</action>', 'Done.'], {
      manifest: `${BARE}models: { fast: "scripted:./fast.yml" }\nprompts: { ask: { template: How many?, model: fast } }\n`,
      files: { 'fast.yml': JSON.stringify({ turns: [{ text: 'Seven.', reasoning: 'hmm '.repeat(100) }] }) },
    });
    expect(of('custom')).toMatchObject([{ name: 'llm.usage', data: { output: 102, estimated: true } }]);
  });

  it('counts reasoning, which is paid for, too: of turns that are cut, break off or are cancelled', async () => {
    const reasoning = 'hmm '.repeat(1000);
    const { of } = await ended([
      { text: '', reasoning, failAfter: 0 },
      { text: '<response>Seven.</response>', reasoning },
    ]);
    expect(of('turn.failed')[0]?.usage).toMatchObject({ output: 1000, estimated: true });
    expect(of('turn.completed')[0]?.usage).toMatchObject({ output: 1007, estimated: true });
    const cancelled = await runAgent({
      turns: [],
      model: {
        id: 'test/thinker',
        stream: ({ signal }, sink) =>
          new Promise((_resolve, reject) => {
            for (const piece of reasoning.split(/(?<= )/)) sink.reasoning(piece);
            signal.addEventListener('abort', () => reject(signal.reason));
          }),
      },
      during: async (session) => {
        for await (const event of session.events)
          if (event.type === 'thought.delta') return session.cancel('enough');
      },
    });
    expect(cancelled.of('turn.failed')[0]?.usage).toMatchObject({ output: 1000, estimated: true });
  });
});
