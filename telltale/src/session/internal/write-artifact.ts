import { authorOf, mustBeAllowedToWrite, writesNone, written } from './artifact-access.ts';
import type { Definition } from './definition.ts';

export const writeArtifact: Definition = {
  name: 'write_artifact',
  description:
    'Writes a new version of a decision artifact, or a new artifact: JavaScript that exports the methods, each called with its arguments and, last, the context. Old versions stay.',
  idempotent: false,
  parameters: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'The artifact.' },
      source: { type: 'string', minLength: 1, description: 'Its whole source.' },
      methods: {
        type: 'array',
        items: { type: 'string' },
        description:
          "The functions that may be asked; the newest version's if absent. Empty: the source is text.",
      },
      description: { type: 'string', description: 'What it decides.' },
    },
    required: ['name', 'source'],
    additionalProperties: false,
  },
  useless: writesNone,
  run: async (input, edges) => {
    const given = input as { name: string; source: string; methods?: string[]; description?: string };
    const { name, source } = given;
    await mustBeAllowedToWrite(name, edges);
    const { artifacts } = await edges.desk();
    const before = await artifacts.read(name);
    const description = given.description ?? before?.description;
    const draft = {
      ...{ name, source, methods: given.methods ?? before?.methods ?? [] },
      ...(description === undefined ? {} : { description }),
    };
    return written(edges, await artifacts.write(draft, authorOf(edges.manifest)));
  },
};
