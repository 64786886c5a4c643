import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { settableVariables } from '../variables/declared-variables.ts';

export const noneToWrite = (manifest: AgentManifest): string | undefined =>
  settableVariables(manifest).some(({ writers }) => writers.includes('model'))
    ? undefined
    : 'The manifest declares no variable in "context_variables.runtime" or "context_variables.defined" that the model may write.';
