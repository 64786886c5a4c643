import { relative } from 'node:path';
import type { LoadedAgent } from '../../agent/loaded-agent.ts';
import type { Session } from '../../agent/runtime-types.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { ObservedEvent } from '../../log/event.ts';
import { usageOf } from '../../log/event.ts';
import { namedRef } from '../../manifest/schema/model-options.ts';

import type { Model } from '../../models/model.ts';
import { openModel } from '../../models/open-model.ts';
import type { Io } from '../io.ts';
import { paletteFor } from '../io.ts';
import { shellWord } from '../options.ts';
import type { RunView } from '../run/run-view.ts';
import { costText, countText, tokensText } from '../view/figures.ts';
import { createMessageSource } from './read-typing.ts';

/** Keeps a conversation going: sends a message whenever the session waits for one, and handles Ctrl-C. */
export interface Chat {
  /** The person's first message; undefined if there is none. */
  first(): Promise<string | undefined>;
  lead(session: Session): void;
  /** Call it before an event is shown. It removes the prompt if the session continued without an answer. */
  before(event: ObservedEvent): Promise<void>;
  after(event: ObservedEvent): void;
  /** The totals of the conversation in one line. */
  status(): string;
  /** Whether the session waits for a message. */
  readonly idle: boolean;
  /** Releases the terminal. Rejects if reading the input failed. */
  end(): Promise<void>;
}

export function createChat(io: Io, view: RunView): Chat {
  const totals = createChatTotals();
  const person = createMessageSource(io, totals.text);
  const { dim } = paletteFor(io.stderr);
  let session: Session | undefined;
  let asking: { readonly abort: AbortController; readonly done: Promise<void> } | undefined;
  let idle = true;
  let wasInterrupted = false;
  let failure: { readonly thrown: unknown } | undefined;

  /** The first Ctrl-C after a message interrupts the turn; the next one ends the chat. */
  const interrupted = (): boolean => {
    if (wasInterrupted) return false;
    wasInterrupted = true;
    if (!idle) {
      session?.breakOff();
      view.showInterrupting?.();
    } else void io.stderr.write(`${dim('Ctrl-C again leaves; Ctrl-D ends the conversation.')}\n`);
    return true;
  };
  const release = io.stdin.isTerminal ? io.takeInterrupts(interrupted) : () => undefined;

  const hear = async (signal: AbortSignal): Promise<string | undefined> => {
    await view.leave();
    const text = await view.aside((draft) => person.next(signal, draft), 'message');
    if (text !== undefined) wasInterrupted = false;
    return text;
  };

  const ask = (talking: Session) => {
    const abort = new AbortController();
    const done = hear(AbortSignal.any([abort.signal, io.signal])).then(
      async (text) => {
        if (text !== undefined) await talking.say(text);
        else if (!abort.signal.aborted && !io.signal.aborted) talking.finish();
      },
      async (thrown) => {
        failure ??= { thrown };
        await talking.interrupt();
      },
    );
    done.catch((thrown) => {
      failure ??= { thrown };
    });
    asking = { abort, done };
  };

  const putAway = async () => {
    const asked = asking;
    asking = undefined;
    asked?.abort.abort();
    await asked?.done.catch(() => undefined); // The failure is kept and reported later.
  };

  return {
    first: () => hear(io.signal),
    status: totals.text,
    lead(given) {
      session = given;
      idle = false;
    },
    async before(event) {
      totals.take(event);
      if (event.type !== 'message.received' && event.type !== 'turn.started') return;
      idle = false;
      await putAway();
    },
    after(event) {
      if (event.type !== 'session.waiting' || event.for !== 'message' || session === undefined) return;
      idle = true;
      ask(session);
    },
    get idle() {
      return idle;
    },
    async end() {
      release();
      await putAway();
      if (failure !== undefined) throw failure.thrown;
    },
  };
}

/** The totals of the conversation so far. */
export interface ChatTotals {
  take(event: ObservedEvent): void;
  text(): string;
}

function createChatTotals(): ChatTotals {
  let session = '';
  let turns = 0;
  let input = 0;
  let output = 0;
  let estimated = false;
  let cost = 0;
  return {
    take(event) {
      session = event.session;
      if (event.type !== 'turn.completed' && event.type !== 'turn.failed') return;
      if (event.type === 'turn.completed') turns++;
      input += event.usage?.input ?? 0;
      output += event.usage?.output ?? 0;
      estimated ||= event.usage?.estimated === true;
      cost += event.cost_usd ?? 0;
    },
    text() {
      if (session === '') return 'Nothing was said yet.';
      return [
        session,
        `${countText(turns, 'turn')} here`,
        tokensText(usageOf({ input, output, estimated })),
        ...(cost > 0 ? [costText(cost)] : []),
      ].join(' · ');
    },
  };
}

/** The command that continues a conversation, without the session's id. */
export function resumeChatCommand(manifest: string, { cwd }: Pick<Io, 'cwd'>): string {
  const near = relative(cwd, manifest);
  return `chat ${shellWord(near.startsWith('..') || near === '' ? manifest : near)} --resume`;
}

/**
 * Model options for a chat with a scripted model: when the script has no more turns, it answers with a message that
 * says so, and the chat goes on until the user ends it. Empty for other models, and if plain text cannot be the answer.
 */
export async function chatModel(
  { manifest, folder }: LoadedAgent,
  chosen: string | undefined,
  { env, clock }: Pick<Io, 'env' | 'clock'>,
): Promise<{ readonly model?: Model }> {
  const named = chosen ?? manifest.model ?? '';
  const ref = namedRef(manifest.models[named]) ?? named;
  if (!ref.startsWith('scripted:') || manifest.dialect === 'step' || manifest.output !== undefined) return {};
  const script = await openModel(ref, { env, folder, clock });
  const model: Model = {
    ...script,
    async stream(request, sink) {
      try {
        return await script.stream(request, sink);
      } catch (thrown) {
        if (!(thrown instanceof RuntimeError) || thrown.code !== 'script_ended') throw thrown;
        sink.text(`${thrown.message} ${thrown.hint}`.slice(request.said ?? 0));
        return { finish: 'stop' };
      }
    },
  };
  return { model };
}
