import { resolve } from 'node:path';
import { toRuntimeError } from '../../../kernel/runtime-error.ts';
import { withTimeout } from '../../../targets/access/with-timeout.ts';
import { childEnvironment } from '../../../targets/process/child-environment.ts';
import { commandFailed } from '../../../targets/process/process-errors.ts';
import type { EndedProcess } from '../../../targets/process/process-request.ts';
import type { LeafCall } from '../../leaf.ts';
import { noAgent, targetCall } from '../../steps/call-target.ts';
import type { LeafContext } from '../../steps/leaf-edges.ts';
import { stepWhat } from '../../steps/resolve-in-step.ts';
import {
  type CommandVerifier,
  type JudgedWork,
  judgedJson,
  said,
  unjudged,
  type Verdict,
} from './verdict.ts';

/** Where `verify` sets none: as for actions. */
const COMMAND_MS = 300_000;
/** Of stdout that is kept, and of stderr: the agent is told the end of it. */
const MAX_BYTES = 64 * 1024;

/**
 * A program judges: exit 0 is a pass. What is judged comes on its standard input, as JSON, with the run's input and
 * variables; its arguments are the manifest's own words and nothing else.
 */
export async function verifyByCommand(
  verify: CommandVerifier,
  judged: JudgedWork,
  call: LeafCall,
  context: LeafContext,
): Promise<Verdict> {
  const by = `command ${verify.command[0]}`;
  let ended: EndedProcess;
  try {
    ended = await run(verify, judged, call, context);
  } catch (thrown) {
    call.signal.throwIfAborted();
    const { message, hint } = toRuntimeError(thrown);
    return unjudged(by, hint === undefined ? message : `${message} ${hint}`);
  }
  if (ended.exitCode === 0) return { by, assessment: 'pass', reasoning: 'It exited with 0.' };
  const { message } = commandFailed(`the check "${verify.command.join(' ').slice(0, 200)}"`, ended);
  return { by, assessment: 'retry', reasoning: said(message), instruction: said(message) };
}

async function run(
  { command, cwd = '.', env, timeout }: CommandVerifier,
  judged: JudgedWork,
  call: LeafCall,
  context: LeafContext,
): Promise<EndedProcess> {
  const { world, journal } = context;
  const { runConfined } = await import('../../../targets/process/run-confined.ts');
  const [program = '', ...args] = command;
  const { note } = targetCall(call, noAgent, context);
  const what = `the verifier of ${stepWhat(call)}`;
  const { id, input, variables } = journal.state;
  const about = { run: id, step: call.step.name, input, variables: Object.fromEntries(variables) };
  const request = {
    what,
    program,
    args,
    maxBytes: MAX_BYTES,
    cwd: resolve(world.folder, cwd),
    env: childEnvironment(world.env, world.permissions.environment, {
      ...env,
      TELLTALE_IDEMPOTENCY_KEY: call.idempotencyKey,
    }),
    stdin: `${JSON.stringify({ ...about, ...judgedJson(judged) })}\n`,
  };
  const seconds = (timeout?.ms ?? COMMAND_MS) / 1000;
  return withTimeout(call.signal, seconds, what, world.clock, (signal) =>
    runConfined({ ...request, signal }, note === undefined ? {} : { note }, world),
  );
}
