import { resolve } from 'node:path';
import { agentInCode } from '../../agent/define/agent-code.ts';
import type { LoadedAgent } from '../../agent/loaded-agent.ts';
import { readEvent } from '../../agent/log/read-log.ts';
import type { ResumeOptions } from '../../agent/runtime-types.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { CommandContext, ExitCode } from '../command.ts';
import { signer } from '../program.ts';
import { findSession } from '../session/find-session.ts';
import { openEarly, requireStore } from '../session/with-runtime.ts';
import { maxTurnsOf } from './run-options.ts';
import { loadForRun } from './with-agent.ts';
import { type WorkOptions, workSession } from './work-session.ts';

export interface ResumeSessionOptions extends WorkOptions {
  /** The agent to continue with. By default, the one that the session was started with, read again. */
  readonly agent?: LoadedAgent;
  /** A message for the agent to read first. */
  readonly said?: string;
  readonly model?: string;
  readonly record?: string;
  readonly acceptChanges?: true;
  /** Continues as a conversation, whatever it was before. */
  readonly chat?: true;
}

/** Continues the session that an argument names, and shows what is new. */
export async function resumeSession(
  asked: string,
  options: ResumeSessionOptions,
  context: Pick<CommandContext, 'io' | 'runtimes'>,
): Promise<ExitCode> {
  requireStore(options, context.io);
  const early = options.early ?? openEarly(context, { ...options, mustExist: true });
  try {
    return await continueSession(asked, early === undefined ? options : { ...options, early }, context);
  } finally {
    await early?.close();
  }
}

async function continueSession(
  asked: string,
  options: ResumeSessionOptions,
  context: Pick<CommandContext, 'io' | 'runtimes'>,
): Promise<ExitCode> {
  const { io } = context;
  const maxTurns = maxTurnsOf(options);
  const chosen: ResumeOptions = {
    by: signer(),
    ...(maxTurns === undefined ? {} : { maxTurns }),
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.record === undefined ? {} : { record: resolve(io.cwd, options.record) }),
    ...(options.acceptChanges === undefined ? {} : { acceptChanges: true }),
  };
  return workSession(context, options, async (runtime, view) => {
    const { stream, head } = await findSession(runtime.store, asked);
    const first = await readEvent(runtime.store, stream, 1);
    if (first?.type !== 'session.started') throw neverStarted(stream);
    if (options.agent === undefined && first.manifest.code === true)
      throw agentInCode(stream, first.manifest.path);
    const json = options.json === undefined ? {} : { json: options.json };
    const agent =
      options.agent ?? (await loadForRun(first.manifest.path, context, { ...json, name: first.agent }));
    if (agent === undefined) return undefined;
    const state = await runtime.state(stream);
    if (options.chat !== true && state.chat !== true) {
      const { said } = options;
      if (said === undefined)
        return { session: await runtime.resume(stream, { ...chosen, agent }), seen: head };
      let wasOwned = false;
      // Send the message only once: if the resume is refused, the user will try again.
      const first = async () => {
        wasOwned = (await runtime.store.info(stream))?.owner !== undefined;
        if (!wasOwned) await runtime.steer(stream, said, signer());
      };
      const session = await runtime.resume(stream, { ...chosen, agent, first });
      if (wasOwned) await session.steer(said); // Its owner has released it in the meantime.
      return { session, seen: head };
    }
    const [{ createChat }, { resumeChatCommand: chatAgain }, { chatModel }] = await Promise.all([
      import('../chat/chat.ts'),
      import('../chat/chat.ts'),
      import('../chat/chat.ts'),
    ]);
    const lead = createChat(io, view);
    const model = await chatModel(agent, options.model ?? state.model, io);
    const session = await runtime.resume(stream, { ...chosen, ...model, agent, chat: true });
    if (options.said !== undefined) await session.say(options.said);
    return { session, seen: head, chat: { lead, resumeWith: chatAgain(first.manifest.path, io) } };
  });
}

const neverStarted = (stream: string) =>
  new RuntimeError('session_unknown', `${stream} is not the log of a session that has started.`, {
    hint: 'Start a new one: telltale run MANIFEST "what to do"',
  });
