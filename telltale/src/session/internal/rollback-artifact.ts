import { authorOf, mustBeAllowedToWrite, writesNone, written } from './artifact-access.ts';
import type { Definition } from './definition.ts';

export const rollbackArtifact: Definition = {
  name: 'rollback_artifact',
  description: 'Makes an old version of a decision artifact the newest again.',
  idempotent: false,
  parameters: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Its name.' },
      to: { type: 'integer', minimum: 1, description: 'The old version.' },
    },
    required: ['name', 'to'],
    additionalProperties: false,
  },
  useless: writesNone,
  run: async (input, deps) => {
    const { name, to } = input as { name: string; to: number };
    await mustBeAllowedToWrite(name, deps);
    const { artifacts } = await deps.desk();
    return written(deps, await artifacts.rollback(name, to, authorOf(deps.manifest)));
  },
};
