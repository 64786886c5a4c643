import type { LeafCall } from '../leaf.ts';
import { askPerson } from '../steps/ask-person.ts';
import type { LeafContext } from '../steps/leaf-edges.ts';
import { notConfirmed, questionWithdrawn } from './guided-errors.ts';

/** Waits for a person to say that the step may begin; rejects where they say no. */
export async function confirm(prompt: string, call: LeafCall, context: LeafContext): Promise<void> {
  const { name } = call.step;
  const question = { prompt, options: ['approve', 'reject'], kind: 'confirm' } as const;
  const { answer, by, note } = await askPerson(question, call, context);
  if (answer === 'withdrawn') throw questionWithdrawn(name, note);
  if (answer !== 'approved') throw notConfirmed(name, by, note);
}
