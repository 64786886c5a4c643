import type { AgentManifest } from '../../../manifest/schema/kinds.ts';

export const hasMemory = ({ memory }: AgentManifest): string | undefined =>
  memory?.graph === undefined ? 'The manifest has no "memory: { graph: FOLDER }".' : undefined;
