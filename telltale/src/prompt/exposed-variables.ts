import type { AgentManifest } from '../manifest/schema/kinds.ts';

/** A variable as prompts show it. */
export interface ExposedVariable {
  readonly name: string;
  readonly description: string | undefined;
}

/** Whether the prompts of the agent show the variable. */
export const isExposed = (
  { expose }: { readonly expose?: readonly string[] | undefined },
  agent: string,
): boolean => expose === undefined || expose.includes(agent);

/** The variables that an agent declares and that its own prompts show, in the order of its manifest. */
export function exposedVariables({
  name: agent,
  context_variables: { defined, runtime, derived },
}: AgentManifest): readonly ExposedVariable[] {
  return [...defined, ...runtime, ...derived].flatMap((variable) =>
    isExposed(variable, agent) ? [{ name: variable.name, description: variable.description }] : [],
  );
}
