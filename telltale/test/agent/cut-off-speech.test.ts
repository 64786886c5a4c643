import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/log/event.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { type RunOptions, runAgent, tool } from './run-agent.ts';

const OBSERVED = '<action id="x" mode="sync">{"name": "echo"}</action>';
const BY_OBSERVING = 'import: { tools: [./tools/*.yml] }\nprotocol: { on_sync: observe, actions_in: ';

const saidIn = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => {
    if (event.turn !== 1) return [];
    if (event.type === 'thought') return [`${event.depth} ${event.text}`];
    return event.type === 'response' ? [`${event.final ? 'final' : 'open'} ${event.text}`] : [];
  });

/** What the first turn said, and what it has said where the session is branched off behind any event of that turn. */
async function heard(options: Pick<RunOptions, 'manifest'> & { readonly turn: string }) {
  const forks: (readonly string[])[] = [];
  const { events, of } = await runAgent({
    manifest: options.manifest ?? '',
    files: tool('echo', 'return 1;'),
    turns: [options.turn, '<response>Done.</response>'],
    after: async (id, runtime) => {
      const first = (await runtime.events(id)).filter(({ turn }) => turn === 1);
      const from = first.findIndex(({ type }) => type === 'model.output');
      for (const { seq } of first.slice(from, -1)) {
        const fork = await runtime.fork(id, seq);
        const model = createScriptedModel({ turns: ['', '<response>Done.</response>'] });
        const session = await runtime.resume(fork, { model });
        expect((await session.result).status).toBe('completed');
        forks.push(saidIn(await runtime.events(fork)));
      }
    },
  });
  return { said: saidIn(events), faults: of('fault').map(({ code }) => code), forks };
}

describe('what is open where the runtime cuts the stream', () => {
  it('at a sync action that is observed, thoughts are on the log as far as they went, once', async () => {
    const { said, faults, forks } = await heard({
      manifest: `${BY_OBSERVING}[thought] }\n`,
      turn: `<thought>Done with it.</thought><thought>First I\n<thought>look${OBSERVED}more</thought></thought>`,
    });
    expect(said).toEqual(['0 Done with it.', '1 look', '0 First I\n']);
    expect(faults).toEqual([]);
    // Before the second thought there is only the first, also where the log holds its text and not the event yet.
    expect(new Set(forks.map(String))).toEqual(new Set(['0 Done with it.', String(said)]));
  });

  it('a response there is on the log as one that is not final', async () => {
    const { said, faults, forks } = await heard({
      manifest: `${BY_OBSERVING}[response] }\n`,
      turn: `<response>I look.${OBSERVED} And on.</response>`,
    });
    expect(said).toEqual(['open I look.']);
    expect(faults).toEqual([]);
    // Where the log does not hold the action yet, the model was cut short in the response, and goes on with it.
    expect(forks.slice(1).map(String)).toEqual(forks.slice(1).map(() => 'open I look.'));
  });

  it('at a final response, the thought that it stands in is on the log, and its end is no new tag', async () => {
    const { said, faults, forks } = await heard({
      turn: '<thought>So <if test="true"><response>Yes.</response></if> it is.</thought>',
    });
    expect(said).toEqual(['0 So ', 'final Yes.']);
    expect(faults).toEqual([]);
    expect(new Set(forks.map(String))).toEqual(new Set([String(said)]));
  });
});
