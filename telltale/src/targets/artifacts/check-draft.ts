import { RuntimeError } from '../../kernel/runtime-error.ts';
import { isFunctionName } from '../../manifest/schema/function-name.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import {
  badMethodName,
  badSource,
  methodMissing,
  sourceTooLarge,
  tooManyMethods,
} from './artifact-errors.ts';
import { ARTIFACT_LIMITS } from './artifact-limits.ts';
import { artifactModule, LIST_METHODS } from './artifact-module.ts';
import type { ArtifactDraft } from './artifacts.ts';

const MAX_SOURCE = 256 * 1024;
const MAX_METHODS = 64;

/**
 * Rejects with what is wrong with a source: it is loaded once, in the sandbox, and has to define the methods it names.
 * One without methods is text (`prompt_artifact_id`), and any text will do.
 */
export const createDraftCheck =
  (sandbox: Sandbox) =>
  async (draft: ArtifactDraft): Promise<void> => {
    const { name, source, methods } = draft;
    if (source.length > MAX_SOURCE) throw sourceTooLarge(name, source.length, MAX_SOURCE);
    if (methods.length > MAX_METHODS) throw tooManyMethods(name, MAX_METHODS);
    for (const method of methods) if (!isFunctionName(method)) throw badMethodName(name, method);
    if (methods.length === 0) return;
    const found = await definedMethods(sandbox, draft);
    for (const method of methods) if (!found.includes(method)) throw methodMissing(name, method, found);
  };

async function definedMethods(sandbox: Sandbox, draft: ArtifactDraft): Promise<readonly string[]> {
  try {
    const json = await sandbox.run({
      what: `artifact "${draft.name}"`,
      module: artifactModule(draft),
      source: LIST_METHODS,
      globals: {},
      limits: ARTIFACT_LIMITS,
      now: 0,
      seed: 0,
      signal: new AbortController().signal,
    });
    return JSON.parse(json) as string[];
  } catch (thrown) {
    throw thrown instanceof RuntimeError ? badSource(draft.name, thrown) : thrown;
  }
}
