import { describe, expect, it } from 'vitest';
import { agent, said, step, steps } from './said.ts';

const derivedBy = (match: unknown) =>
  said(
    agent({
      context_variables: {
        derived: [{ name: 'd', triggers: [{ type: 'event', event: 'action.failed', match }] }],
      },
    }),
  );
const startedBy = (trigger: object) =>
  said({ ...steps(step('a')), triggers: [{ type: 'event', event: 'action.failed', ...trigger }] });

const HAS = 'It has: id, error, ms, attempts, type, seq, at, session, turn, cause.';

describe('a trigger on an event', () => {
  it.each<[object, string, string]>([
    [{ nope: 1 }, 'nope', HAS],
    [{ any: [{ id: 'x' }, { idd: 1 }] }, 'any.1.idd', 'Did you mean "id"?'],
    [{ all: [{ nope: 1 }] }, 'all.0.nope', HAS],
    [{ not: { nope: 1 } }, 'not.nope', HAS],
    [{ 'eror.code': 1 }, 'eror.code', 'Did you mean "error"?'],
  ])('that asks %j names a field that the event does not have', (match, path, hint) => {
    const field = path.split('.').find((part) => /nope|idd|eror/.test(part));
    const line = `match.${path}: An event of type action.failed has no field "${field}". | ${hint}`;
    expect(derivedBy(match)).toEqual([`unknown_field context_variables.derived.0.triggers.0.${line}`]);
    expect(startedBy({ match })).toEqual([`unknown_field triggers.0.${line}`]);
  });

  it('may ask for every field that it has, and for what is inside', () => {
    const match = {
      id: 'x',
      'error.code': 'y',
      attempts: { gt: 1 },
      any: [{ seq: 1 }, { not: { turn: 2 } }],
    };
    expect(derivedBy(match)).toEqual([]);
    expect(startedBy({ match })).toEqual([]);
    expect(startedBy({ test: 'event.id == "x" && event.error.code == "y" && event["seq"] > 1' })).toEqual([]);
  });

  it('is told of each field in its test that the event does not have', () => {
    expect(startedBy({ test: 'event.nope == 1 || event.idd == "x" || event.id == "y"' })).toEqual([
      `unknown_field triggers.0.test: An event of type action.failed has no field "nope". | ${HAS}`,
      'unknown_field triggers.0.test: An event of type action.failed has no field "idd". | Did you mean "id"?',
    ]);
  });

  it('of the type "custom" may ask for anything in its data', () => {
    expect(startedBy({ event: 'custom', match: { 'data.nope': 1, data: { other: 2 } } })).toEqual([]);
    expect(startedBy({ event: 'custom', test: 'event.data.nope == 1' })).toEqual([]);
  });
});
