import { callablesOf, OWN_KINDS } from '../guided/plan/callables.ts';
import { letPass } from '../guided/plan/verify-claim.ts';
import { workOnPlan } from '../guided/plan/work-on-plan.ts';
import type { LeafPlace } from '../leaf.ts';
import type { LeafContext, PrepareLeaf, StepOf } from './leaf-edges.ts';
import { resolveInStep } from './resolve-in-step.ts';

/**
 * One request plans, the runtime executes the plan, another request writes the notes. Results in
 * `{notes, results: [{action, output}]}`. With an `agent` of its own it is that agent's model, tools and relics.
 */
export const preparePlan: PrepareLeaf<'plan'> = async (step, place, context) => {
  const { agent = context.journal.state.manifest.agent } = step;
  const isOwn = agent === context.journal.state.manifest.agent;
  const { targets, ask } = isOwn ? context : await context.handsOf(agent);
  const callables = callablesOf(targets, step.tools, context.workflow, isOwn ? undefined : OWN_KINDS);
  const prompt = await planPrompt(step, place, context);
  return {
    input: { prompt },
    repeatable: true, // its plans and what was done for them are on the log
    run: (call) => {
      const asked = { step, prompt: String(call.input.prompt), callables, call };
      return workOnPlan({ ...asked, verify: letPass, context: { ...context, targets, ask } });
    },
  };
};

/** The prompt, with the fragments whose tests hold. */
async function planPrompt(step: StepOf<'plan'>, place: LeafPlace, context: LeafContext): Promise<string> {
  const { address, locals } = place;
  const parts = [await context.decisions.prompt(step, address, locals)];
  for (const [index, { text, if: test }] of step.fragments.entries())
    if (test === undefined || (await context.decisions.test(`${address}:fragment ${index}`, test, locals)))
      parts.push(String(await resolveInStep(text, place, context)));
  return parts.join('\n\n');
}
