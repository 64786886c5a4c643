import { onTestFinished } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import type { Session } from '../../src/agent/runtime-types.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import type { Model } from '../../src/models/model.ts';
import { hear, scripted } from '../../src/testing/scripted.ts';

/** A model that does what it is told after a restart: it says entry N when it is asked for the Nth time, whole. */
export function anew(...texts: readonly string[]): Model {
  let asked = 0;
  return {
    id: 'test/anew',
    async stream(_request, sink) {
      sink.text(texts[asked++] ?? '');
      return { finish: 'stop' };
    },
  };
}

/** One that goes on word for word from where the log ends, as a script does. */
export const wordForWord = (...turns: readonly string[]): Model => scripted(turns);

type Agent = Omit<Parameters<typeof defineAgent>[0], 'name' | 'tools'>;

/** An agent with a tool that gives the id of the action that calls it. */
const agentWith = (given: Agent) => {
  const run = defineTool({
    name: 'run',
    idempotent: true,
    run: (_input, { idempotencyKey }) => idempotencyKey.slice(idempotencyKey.indexOf(':') + 1),
  });
  return defineAgent({ name: 'stopped', tools: [run], protocol: { final_with_actions: 'accept' }, ...given });
};

/** Where a log ends that a kill leaves in the midst of a stop: all that was said is on it, and not that the turn is over. */
function lastSaid(events: readonly SessionEvent[]): number {
  const said = events.findLastIndex(({ type }) => type === 'model.output');
  const stops = events.findIndex(({ type }, at) => at > said && STOPS.has(type));
  return events[stops - 1]?.seq ?? 0;
}

const STOPS: ReadonlySet<string> = new Set(['action.cancelled', 'turn.failed']);

/** Leaves a session whose log ends where its model has said this much, wherever that is, and goes on with it. */
export async function stoppedBehind(said: string, given: Agent = {}) {
  const agent = await agentWith(given);
  const runtime = await createRuntime({ store: 'memory', random: () => 0 });
  onTestFinished(() => runtime.close());
  let session: Session | undefined;
  const stopping = (text: string): Model => ({
    id: 'test/stopping',
    async stream(request, sink) {
      sink.text(text.slice(request.said ?? 0));
      await new Promise((resolve) => setTimeout(resolve, 5)); // what it has asked for ends
      void session?.cancel('enough');
      throw new Error('stopped');
    },
  });
  /** Branches off where the log of the session would have ended. */
  const killed = async () => {
    await session?.result;
    const from = session?.id ?? '';
    return runtime.fork(from, lastSaid(await runtime.events(from)));
  };
  session = runtime.start(agent, { input: 'Go.', model: stopping(said) }) as Session;
  let id = await killed();
  return {
    cancelled: session.id,
    events: () => runtime.events(id),
    async stopAgainBehind(text: string) {
      session = (await runtime.resume(id, { agent, model: stopping(text) })) as Session;
      id = await killed();
    },
    async goOn(model: Model, from = id) {
      const asked = hear(model);
      const messages: (readonly { readonly role: string; readonly text: string }[])[] = [];
      const looked: Model = {
        ...asked,
        stream(request, sink) {
          messages.push(request.messages);
          return asked.stream(request, sink);
        },
      };
      const result = await (await runtime.resume(from, { agent, model: looked })).result;
      return { result, all: await runtime.events(from), prompts: asked.prompts, messages };
    },
  };
}

export const act = (...ids: readonly string[]): string =>
  ids.map((id) => `<action id="${id}">{"name":"run"}</action>`).join('');

export const declared = (events: readonly SessionEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === 'action.declared' ? [event.action.id] : []));

export const faultsIn = (events: readonly SessionEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === 'fault' ? [event.code] : []));
