import type { VerifyRecord } from '../../events/run-event.ts';
import { clip } from '../../prompt/cut-text.ts';
import type { LeafCall } from '../leaf.ts';
import { askPerson } from '../steps/ask-person.ts';
import type { LeafContext } from '../steps/leaf-edges.ts';
import type { Reported, TaskLog } from './decide-report.ts';
import { questionWithdrawn } from './guided-errors.ts';

const MAX_PROMPT = 2_000;
const MAX_NOTES = 4_000;

/**
 * Puts what agent and verifier do not settle to a person, once for each report, and waits for their word: it is on the
 * log then.
 */
export async function escalate(
  reported: Reported,
  because: string,
  { guided }: TaskLog,
  call: LeafCall,
  context: LeafContext,
): Promise<void> {
  const { nth } = reported;
  const claim = guided.claims.find((each) => each.nth === nth);
  const verdict = guided.verdicts.find((each) => each.nth === nth);
  const prompt = [
    `The step "${call.step.name}" needs a decision. ${because}`,
    `The step:\n${clip(String(call.input.prompt), MAX_PROMPT)}`,
    ...(claim === undefined ? [] : [`The agent's notes:\n${clip(claim.notes, MAX_NOTES)}`]),
    ...(verdict === undefined ? [] : [verdictText(verdict)]),
    WORDS[reported.kind],
  ].join('\n\n');
  const options = reported.kind === 'stuck' ? ['retry', 'fail'] : ['pass', 'retry', 'fail'];
  const word = await askPerson({ prompt, options, kind: 'escalation', nth }, call, context);
  if (word.answer === 'withdrawn') throw questionWithdrawn(call.step.name, word.note);
}

const WORDS: Readonly<Record<Reported['kind'], string>> = {
  claimed:
    'pass: it is done, and the run goes on. retry: the agent tries again, with your note as its instruction. fail: the step fails.',
  turn: 'pass: the agent goes on. retry: it goes on with your note as its instruction. fail: the step fails.',
  stuck: 'retry: the agent goes on, with your note as its instruction. fail: the step fails.',
};

function verdictText({ by, assessment, confidence, reasoning, instruction, fallback }: VerifyRecord): string {
  const sure = confidence === undefined ? '' : `, ${confidence} confidence`;
  return [
    `The verifier (${by}) says ${assessment}${sure}:`,
    reasoning,
    ...(instruction === undefined || instruction === reasoning ? [] : [`It asks for: ${instruction}`]),
    ...(fallback === undefined ? [] : [`(${fallback})`]),
  ].join('\n');
}
