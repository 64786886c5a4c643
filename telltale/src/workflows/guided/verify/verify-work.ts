import type { VerifyRecord } from '../../../events/run-event.ts';
import type { LeafCall, LeafPlace } from '../../leaf.ts';
import type { LeafContext, LeafDeps } from '../../steps/leaf-edges.ts';
import { resolveInStep } from '../../steps/resolve-in-step.ts';
import type { JudgedWork, Verdict, Verifier } from './verdict.ts';
import { verifyByArtifact } from './verify-by-artifact.ts';
import { verifyByCommand } from './verify-by-command.ts';
import { verifyByModel } from './verify-by-model.ts';

/** What a verifier says of the report `nth` of a step: to be put on the log, as it is, by whoever asks. */
export async function verifyWork(
  verify: Verifier,
  judged: JudgedWork,
  nth: number,
  call: LeafCall,
  context: LeafContext,
): Promise<VerifyRecord> {
  const began = context.clock.monotonic();
  const verdict = await verdictOf(verify, judged, nth, call, context);
  const ms = Math.max(0, context.clock.monotonic() - began);
  return { step: call.address, attempt: call.attempt, nth, ...verdict, ms };
}

function verdictOf(
  verify: Verifier,
  judged: JudgedWork,
  nth: number,
  call: LeafCall,
  context: LeafContext,
): Promise<Verdict> {
  if ('instructions' in verify) return verifyByModel(verify, judged, call, context);
  if ('invoke' in verify) return verifyByArtifact(verify, judged, nth, call, context);
  return verifyByCommand(verify, judged, call, context);
}

/** What a model judges by, with its `${…}` resolved; undefined where no model judges. */
export async function resolveInstructions(
  verify: Verifier | undefined,
  place: LeafPlace,
  deps: Pick<LeafDeps, 'scope'>,
): Promise<string | undefined> {
  if (verify === undefined || !('instructions' in verify)) return undefined;
  const resolved = await resolveInStep(verify.instructions, place, deps);
  return typeof resolved === 'string' ? resolved : JSON.stringify(resolved);
}

/** The verifier, with instructions that were resolved when the step began. */
export const withInstructions = (verify: Verifier, instructions: unknown): Verifier =>
  'instructions' in verify && typeof instructions === 'string' ? { ...verify, instructions } : verify;
