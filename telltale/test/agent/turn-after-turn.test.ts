import { expect, test } from 'vitest';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { runAgent, tool } from './run-agent.ts';

const call = (id: string, more = '') =>
  `<action id="${id}"${more}>{"name":"echo","parameters":{"text":"${id}"}}</action>`;

const NEXT = `Words before.<thought>Look.</thought>${call('next')}<if test="true"><thought>Held.</thought></if>`;

/** What the turn behind `first` said, as it is on the log, without places and times. When its action ends is left open. */
async function turnBehind(first: string): Promise<readonly object[]> {
  const { result, events } = await runAgent({
    manifest: 'import: { tools: [./tools/*.yml] }\n',
    files: tool('echo', 'return input.text;'),
    clock: createSimulatedClock(),
    turns: [first, NEXT, '<response>Done.</response>'],
  });
  expect(result).toMatchObject({ status: 'completed', result: 'Done.', turns: 3 });
  return events
    .filter(({ turn, type }) => turn === 2 && type !== 'turn.started' && type !== 'action.completed')
    .map(({ seq: _, at: _at, cause: _cause, ...event }) => ({ ...event, session: '', usage: null }));
}

test.each([
  ['a branch that was left open', '<if test="false"><thought>Never.</thought>'],
  ['thoughts that were left open', '<thought>One <thought>two'],
  ['a parallel that was left open', `<parallel>${call('p')}`],
  ['half of a closing tag', `${call('a')}</`],
  ['a response that was left open', '<response final="false">Half'],
  ['a response that was not final', '<response final="false">One.</response>'],
  ['an action that was left open', '<action id="x">{"name":"echo"'],
  ['an action that the stream waited for', `${call('s', ' mode="sync"')}<thought>Then.</thought>`],
])('a turn is read as if nothing had been before it: behind %s', async (_, first) => {
  expect(await turnBehind(first)).toEqual(await turnBehind('<thought>Plain.</thought>'));
});

test('a turn without a tag is told so, whatever the turn before had', async () => {
  const { of } = await runAgent({
    turns: ['<thought>Tagged.</thought>', 'Bare.', '<response>Done.</response>'],
  });
  expect(of('fault').map(({ code, turn }) => [code, turn])).toEqual([['no_tags', 2]]);
});
