import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { takenIds } from '../../src/agent/model-interface.ts';
import { type ActionMode, frameOf, openFrame, readTurnParts } from '../../src/lib/calls.ts';
import { declaredIn, hasEnded, idInTurn, newestOf } from '../../src/log/action.ts';
import { NO_CALL_NAMES } from '../../src/parser/calls/call-names.ts';
import { type CallDialect, createCallDialectParser } from '../../src/parser/dialect-parser.ts';
import type { CallStyle } from '../../src/prompt/calls/answer-calls.ts';
import { createConversation } from '../../src/prompt/conversation.ts';
import { openingOf } from '../../src/prompt/opening.ts';
import { commonPrefix, reusedPrefix } from '../../src/prompt/prompt.ts';
import { moreRuns } from '../more-runs.ts';
import { agentWith } from './agent.ts';
import { copiedPrompt } from './copied-prompt.ts';
import { completed, drivenSession, failed } from './driven-session.ts';

const styleOf = (dialect: CallDialect): CallStyle => ({
  dialect,
  names: NO_CALL_NAMES,
  maxBody: 10_000,
  led: false,
  takenIds,
});

const conversationOf = (dialect: CallDialect) => {
  const agent = agentWith({ dialect, metadata: { fields: { status: { values: ['IDLE', 'CODING'] } } } });
  return createConversation(openingOf({ system: 'You are a coder.', agent, calls: styleOf(dialect) }));
};

const run = fc.constantFrom(
  {},
  { id: 'x' },
  { id: 'y' },
  { mode: 'fire_and_forget' },
  { mode: 'wrong' },
  // Nobody has it: the id is given out, and no action comes of it.
  { template: 'none' },
);
const frame = (name: string, input: unknown) =>
  frameOf({ id: `c_${name}`, name, input: JSON.stringify(input) });

const toolsPart = fc.oneof(
  run.map((_run) => frame('fetch', { q: 1, _run })),
  fc.constantFrom(
    'Prose. ',
    '\n',
    frame('set_metadata', { status: 'CODING' }),
    frame('respond', { text: 'So far.', final: false }),
    `${openFrame('c', 'fetch')}{"q":`,
  ),
);
const stepPart = fc.array(run, { maxLength: 3 }).chain((runs) => {
  const whole = frame('step', {
    thought: 'Hm.',
    tool_calls: runs.map((each) => ({ name: 'fetch', input: {}, ...each })),
    metadata: { status: 'CODING' },
  });
  return fc.oneof(
    fc.constant(whole),
    fc.nat(whole.length).map((cut) => whole.slice(0, cut)),
  );
});

type Move =
  | { readonly do: 'turn'; readonly output: string; readonly cutShort: boolean }
  | { readonly do: 'end'; readonly which: number; readonly how: number }
  | { readonly do: 'message' | 'reject' }
  | { readonly do: 'compact'; readonly back: number };

const moves = (dialect: CallDialect): fc.Arbitrary<readonly Move[]> => {
  const output =
    dialect === 'tools' ? fc.array(toolsPart, { maxLength: 5 }).map((parts) => parts.join('')) : stepPart;
  return fc.array(
    fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          do: fc.constant('turn' as const),
          output,
          cutShort: fc.boolean(),
        }),
      },
      {
        weight: 4,
        arbitrary: fc.record({ do: fc.constant('end' as const), which: fc.nat(4), how: fc.nat(3) }),
      },
      fc.record({ do: fc.constantFrom('message' as const, 'reject' as const) }),
      fc.record({ do: fc.constant('compact' as const), back: fc.nat(2) }),
    ),
    { maxLength: 20, size: 'max' },
  );
};

describe.each(['tools', 'step'] as const)('a conversation with native calls, dialect %s', (dialect) => {
  it('made anew is what extending it gave; every call has its answer, and its result is told once', () => {
    const property = fc.property(moves(dialect), (all) => {
      const session = drivenSession('Do it.', { status: 'IDLE' });
      const { state, log } = session;
      const grown = conversationOf(dialect);
      // As a session does: an id may be used again once what has it has ended.
      const ids = new Set<string>();
      const declare = (written: string, mode: ActionMode, name: string) => {
        const holder = state.actions.get(newestOf(state, written));
        if (holder === undefined) session.declare({ id: written, mode, name });
        else if (hasEnded(holder.status) && holder.turn < state.turn)
          session.declare({ id: idInTurn(written, state.turn), mode, name });
        else log({ type: 'fault', code: 'duplicate_id', message: `"${written}" is taken.` });
      };
      for (const move of all) {
        switch (move.do) {
          case 'turn': {
            const before = grown.prompt();
            const asked = before === undefined ? undefined : copiedPrompt(before);
            const prompt = session.turn(grown, move.output);
            expect(reusedPrefix(before, prompt)).toBe(1);
            if (asked !== undefined) expect(commonPrefix(asked, prompt)).toBe(asked.chars);
            const parser = createCallDialectParser(dialect, { earlier: ids });
            for (const event of [...parser.push(move.output), ...parser.end()]) {
              if (event.type === 'action' && event.template === undefined)
                declare(event.id, event.mode ?? 'async', event.name ?? '');
              if (event.type === 'fault') log({ type: 'fault', code: event.code, message: event.message });
            }
            for (const id of parser.given)
              if (declaredIn(state.actions, state.turn, id) !== undefined) ids.add(id);
            if (move.cutShort)
              log({ type: 'turn.failed', error: { code: 'interrupted', message: 'Gone.', retryable: true } });
            break;
          }
          case 'end': {
            const id = [...state.open][move.which];
            if (id === undefined) break;
            const ends = [
              completed(id, `The result of ${id}.`),
              completed(id, 'long '.repeat(2000)),
              failed(id, 'broke', `No luck with ${id}.`),
              { type: 'action.skipped', id, reason: 'dependency', because: 'x' } as const,
            ];
            log(ends[move.how] ?? completed(id, ''));
            break;
          }
          case 'message':
            log({ type: 'message.received', from: 'steer', text: 'Hurry.' });
            break;
          case 'reject':
            log({
              type: 'metadata.rejected',
              by: 'model',
              errors: [{ field: 'status', code: 'not_allowed', sent: 'X', message: 'No.', allowed: 'x' }],
            });
            break;
          case 'compact': {
            const through = state.turn - move.back;
            if (through < 1 || through <= (state.compaction?.through ?? 0)) break;
            log({ type: 'prompt.compacted', through, summary: 'So far so good.' });
            grown.rebuild(state);
            break;
          }
        }
        if (move.do !== 'turn' && move.do !== 'compact') continue; // nothing else adds to it
        const anew = conversationOf(dialect);
        anew.rebuild(state);
        expect(anew.prompt()).toEqual(grown.prompt());
      }
      checkAnswers(grown);
    });
    fc.assert(property, { numRuns: moreRuns(60) });
  });
});

function checkAnswers(conversation: ReturnType<typeof createConversation>): void {
  const messages = conversation.prompt()?.messages ?? [];
  expect(messages[0]?.role ?? 'user').toBe('user');
  const told: string[] = [];
  for (const [index, { role, text, answers }] of messages.entries()) {
    for (const [whole] of text.matchAll(/The result of \w+\.|No luck with \w+\./g)) told.push(whole);
    expect(answers !== undefined).toBe(role === 'tool');
    if (role !== 'assistant') continue;
    const parts = readTurnParts(text);
    expect(parts.some(({ type }) => type === 'broken')).toBe(false);
    const calls = parts.flatMap((part) => (part.type === 'call' ? [part.id] : []));
    const next = messages[index + 1];
    if (next?.role !== 'tool') expect(calls).toEqual([]);
    else expect(next.answers?.map(({ call }) => call)).toEqual(calls);
  }
  expect(new Set(told).size).toBe(told.length);
}
