import type { Issue } from '../../conditions/issue.ts';
import { parseTemplate } from '../../conditions/templates/parse-template.ts';
import { resolveTemplate } from '../../conditions/templates/resolve-template.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Invocation } from '../../targets/artifacts/invoker.ts';
import type { Locals } from '../scope.ts';
import type { Ask, DecisionDeps } from './decision-edges.ts';

/** The keys of a prompt, in a step or a component. */
export interface PromptKeys {
  readonly prompt?: string | Invocation<string> | undefined;
  readonly prompt_artifact_id?: string | undefined;
}

/**
 * Text as it was written, or as an artifact holds it, with its `${…}` resolved; or what an artifact's method makes, as
 * it is, with the fallback as written text. Rejects where a path does not exist, or the artifact that holds the text.
 */
export async function writtenPrompt(
  where: string,
  step: string,
  { prompt, prompt_artifact_id: artifact }: PromptKeys,
  address: string,
  locals: Locals,
  deps: Pick<DecisionDeps, 'scope' | 'artifacts'> & { readonly ask: Ask },
): Promise<string> {
  const written = (text: string) => filled(text, where, address, locals, deps);
  if (typeof prompt !== 'object')
    return written(artifact === undefined ? (prompt ?? '') : await sourceOf(artifact, where, deps));
  const fallback = await written(prompt.fallback);
  return deps.ask({ where, step, locals, at: address }, { ...prompt, fallback }, { type: 'string' });
}

async function filled(
  text: string,
  where: string,
  address: string,
  locals: Locals,
  deps: Pick<DecisionDeps, 'scope'>,
): Promise<string> {
  const template = parseTemplate(text, { names: Object.keys(locals) });
  if (!template.ok) throw badPrompt(where, template.error[0]);
  const resolved = resolveTemplate(template.value, await deps.scope.forTemplate(text, locals, address));
  if (!resolved.ok) throw badPrompt(where, resolved.error);
  return typeof resolved.value === 'string' ? resolved.value : JSON.stringify(resolved.value);
}

async function sourceOf(
  artifact: string,
  where: string,
  { artifacts }: Pick<DecisionDeps, 'artifacts'>,
): Promise<string> {
  const found = await artifacts.read(artifact);
  if (found === undefined) throw promptMissing(artifact, where);
  return found.source;
}

const badPrompt = (where: string, issue: Issue | undefined) =>
  new RuntimeError(
    'bad_prompt',
    `The prompt of ${where.replace(/: prompt$/, '')} cannot be made: ${issue?.message ?? ''}`,
    {
      hint: issue?.hint,
    },
  );

const promptMissing = (artifact: string, where: string) =>
  new RuntimeError('artifact_unknown', `${where}: no artifact is named "${artifact}".`, {
    hint: 'Import it, have it written first, or use "prompt: { invoke, method, fallback }", which has a fallback.',
  });
