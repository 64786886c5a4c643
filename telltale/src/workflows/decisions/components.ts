import type { Invocation } from '../../targets/artifacts/invoker.ts';
import type { Decisions } from '../decisions.ts';
import type { Locals } from '../scope.ts';
import { type Ask, type Component, type DecisionDeps, nameOf } from './decision-edges.ts';
import { writtenPrompt } from './written-prompt.ts';

interface ComponentDeps extends DecisionDeps {
  readonly ask: Ask;
  readonly test: Decisions['test'];
}

/** The fragments that join the prompt of a step, in the order of the manifests; each is put on the log. */
export const componentsFor =
  (deps: ComponentDeps) =>
  async (step: string, address: string, locals: Locals): Promise<readonly string[]> => {
    const fragments: string[] = [];
    for (const component of deps.components ?? []) {
      const because = await whyInjected(component, step, address, locals, deps);
      if (because === undefined) continue;
      const where = `step ${address}: component ${component.name}: prompt`;
      fragments.push(await writtenPrompt(where, step, component, address, locals, deps));
      const { journal } = deps;
      if (journal.state.injected.has(`${component.name} ${address}`)) continue;
      journal.append({ type: 'component.injected', component: component.name, step: address, because });
    }
    return fragments;
  };

/** `always`, the test, or the artifact that said so; undefined where it does not join. */
async function whyInjected(
  { name, inject_into: into }: Component,
  step: string,
  address: string,
  locals: Locals,
  { ask, test }: ComponentDeps,
): Promise<string | undefined> {
  if (!Array.isArray(into)) {
    const asked = into as Invocation<readonly string[]>;
    const where = `step ${address}: component ${name}`;
    const steps = await ask({ where, step, locals, at: address }, asked, { type: 'names' });
    return steps.includes(step) ? nameOf(asked) : undefined;
  }
  for (const [index, entry] of into.entries()) {
    if (typeof entry === 'string') {
      if (entry === step) return 'always';
      continue;
    }
    if (entry.step !== step) continue;
    if (entry.if === undefined) return 'always';
    const at = `${address}:component ${name}#${index}`;
    if (await test(at, entry.if, locals))
      return typeof entry.if === 'object' ? nameOf(entry.if) : String(entry.if);
  }
  return undefined;
}
