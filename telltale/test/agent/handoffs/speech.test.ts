import { expect, it, onTestFinished } from 'vitest';
import { createRuntime, defineAgent, type Session } from '../../../src/index.ts';
import type { ObservedEvent } from '../../../src/log/event.ts';
import { scripted } from '../../../src/testing/scripted.ts';
import { createSpokenModel } from '../../server/stream/spoken-model.ts';

const HANDOFF = '<action type="internal">{"name": "handoff", "parameters": {"to": "billing"}}</action>';

/** A conversation with an agent that says what the test has it say. */
async function movedConversation() {
  const runtime = await createRuntime({ store: 'memory' });
  onTestFinished(() => runtime.close());
  const model = createSpokenModel();
  const billing = await defineAgent({ name: 'billing', model });
  const agent = await defineAgent({
    name: 'triage',
    model: scripted([`${HANDOFF}<response final="true">One moment.</response>`]),
    handoff: ['billing'],
    agents: [billing],
  });
  const session = runtime.start(agent, { input: 'What do I owe?' });
  const events: ObservedEvent[] = [];
  session.subscribe((event) => void events.push(event));
  return { model, session, events };
}

const openSpeech = (session: Session): Promise<Parameters<Parameters<Session['speech']>[0]>[0]> =>
  new Promise((resolve) => session.speech((open) => resolve(open)));

it('reaches whoever follows the conversation as it comes, with the name of the agent, before the whole', async () => {
  const { model, session, events } = await movedConversation();
  await model.say('<thought>I look.</thought><response final="true">You owe');
  const said = () => events.flatMap((event) => (event.type === 'response.delta' ? [event] : []));
  await expect.poll(() => said().at(-1)?.text).toBe('You owe');
  expect(said().at(-1)).toMatchObject({ session: session.id, speaker: 'billing', final: true });
  expect(events.find(({ type }) => type === 'thought.delta')).toMatchObject({ speaker: 'billing' });
  expect(said()[0]).not.toHaveProperty('speaker');
  await model.say(' nothing.</response>');
  await session.result;
  const at = events.findLastIndex(({ type }) => type === 'response.delta');
  expect(at).toBeLessThan(events.findIndex(({ type }) => type === 'child.response'));
  expect(
    said()
      .map(({ text }) => text)
      .join(''),
  ).toBe('One moment.You owe nothing.');
});

it('is told to whoever joins in the middle, as far as it is open', async () => {
  const { model, session } = await movedConversation();
  await model.say(
    '<thought>I look.</thought><response final="false">Wait.</response><response final="true">You',
  );
  await expect.poll(async () => (await openSpeech(session))?.response).toBe('You');
  expect(await openSpeech(session)).toEqual({ turn: 1, thoughts: [], response: 'You', speaker: 'billing' });
  await model.say(' owe nothing.</response>');
  await session.result;
  expect(await openSpeech(session)).toBeUndefined();
});

it('is on the log of the conversation with the turns and actions of the agent', async () => {
  const { model, session, events } = await movedConversation();
  await model.say('<action id="a1">{"name": "list_actions"}</action>');
  await model.stop();
  await model.say('<response final="true">Done.</response>');
  await session.result;
  const copied = events.flatMap(({ type }) => (type.startsWith('child.') ? [type] : []));
  expect(copied).toEqual([
    'child.turn.started',
    'child.action.declared',
    'child.action.started',
    'child.action.completed',
    'child.turn.completed',
    'child.turn.started',
    'child.turn.completed',
    'child.response',
  ]);
});
