import { callablesOf, OWN_KINDS } from '../guided/plan/callables.ts';
import { verifyClaim } from '../guided/plan/verify-claim.ts';
import { workOnPlan } from '../guided/plan/work-on-plan.ts';
import { fragmentsOf } from '../guided/task-prompt.ts';
import { resolveInstructions } from '../guided/verify/verify-work.ts';
import type { PrepareLeaf } from './leaf-edges.ts';

/**
 * One request plans, the runtime executes the plan, another request writes the notes. Results in
 * `{notes, results: [{action, output}]}`. With an `agent` of its own it is that agent's model, tools and relics.
 */
export const preparePlan: PrepareLeaf<'plan'> = async (step, place, context) => {
  const { agent = context.journal.state.manifest.agent } = step;
  const isOwn = agent === context.journal.state.manifest.agent;
  const { targets, ask } = isOwn ? context : await context.handsOf(agent);
  const callables = callablesOf(targets, step.tools, context.workflow, isOwn ? undefined : OWN_KINDS);
  const parts = [
    await context.decisions.prompt(step, place.address, place.locals),
    ...(await fragmentsOf(step.fragments, place, context)),
  ];
  const instructions = await resolveInstructions(step.verify, place, context);
  return {
    input: { prompt: parts.join('\n\n'), ...(instructions === undefined ? {} : { instructions }) },
    repeatable: true, // its plans and what was done for them are on the log
    run: (call) => {
      const asked = { step, prompt: String(call.input.prompt), callables, call };
      return workOnPlan({ ...asked, verify: verifyClaim, context: { ...context, targets, ask } });
    },
  };
};
