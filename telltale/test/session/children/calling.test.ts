import { describe, expect, it } from 'vitest';
import { call, runTeam } from './run-team.ts';

const echo = { turns: ['<thought>Hm.</thought>So. <response>Done by echo.</response>'] };

describe('an action of type agent', () => {
  it('runs a session of its own, whose final response is the result', async () => {
    const ran = await runTeam({ echo }, { turns: [`${call('a1', 'echo')}<response>$a1</response>`] });
    expect(ran.result).toMatchObject({ status: 'completed', result: 'Done by echo.' });
    expect(ran.child('a1').map(({ type }) => type)).toEqual([
      'session.started',
      'turn.started',
      'model.output',
      'thought',
      'model.output',
      'text',
      'model.output',
      'turn.completed',
      'response',
      'session.completed',
    ]);
    expect(ran.types).toEqual([]);
  });
});
