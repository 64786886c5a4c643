import type { Definition } from './definition.ts';
import { authorOf, mustBeAllowedToWrite, writesNone, written } from './session-actions.ts';

export const writeArtifact: Definition = {
  name: 'write_artifact',
  description:
    'Creates a decision artifact or adds a version to one. The source is JavaScript that exports the methods; each gets its arguments and then the context.',
  idempotent: false,
  parameters: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Its name.' },
      source: { type: 'string', minLength: 1, description: 'The whole source.' },
      methods: {
        type: 'array',
        items: { type: 'string' },
        description: 'Exported functions (default: those of the newest version). Empty: the source is text.',
      },
      description: { type: 'string', description: 'What it decides.' },
    },
    required: ['name', 'source'],
    additionalProperties: false,
  },
  useless: writesNone,
  run: async (input, deps) => {
    const given = input as { name: string; source: string; methods?: string[]; description?: string };
    const { name, source } = given;
    await mustBeAllowedToWrite(name, deps);
    const { artifacts } = await deps.artifactStore();
    const before = await artifacts.read(name);
    const description = given.description ?? before?.description;
    const draft = {
      name,
      source,
      methods: given.methods ?? before?.methods ?? [],
      ...(description === undefined ? {} : { description }),
    };
    return written(deps, await artifacts.write(draft, authorOf(deps.manifest)));
  },
};
