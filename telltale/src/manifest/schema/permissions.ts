import { z } from 'zod';
import { closed } from './closed.ts';
import { nonEmptyText } from './names.ts';

export const permissions = closed(
  {
    title: '"permissions"',
    description: 'What actions of this agent may touch.',
    slips: {
      filesystem: 'Folders that may be touched are "paths".',
      files: 'Folders that may be touched are "paths".',
      hosts: 'Hosts that may be reached are "network".',
      env: 'Environment variables in view are "environment".',
      secrets: 'Environment variables in view are "environment".',
      tools: 'A tool that needs a person\'s consent says so itself: "approval: always".',
    },
  },
  {
    paths: z
      .array(nonEmptyText('A folder or file.'))
      .default(['.'])
      .describe('Folders and files that may be read and written.'),
    network: z
      .array(nonEmptyText('A host, with or without a port.'))
      .default([])
      .describe('Hosts that may be reached.'),
    shell: z
      .enum(['allow', 'ask', 'deny'])
      .default('ask')
      .describe("Commands: allowed, after a person's approval, or not at all."),
    artifacts: z
      .array(z.enum(['read', 'write']))
      .default([])
      .describe('What may be done with decision artifacts.'),
    environment: z
      .array(nonEmptyText('The name of an environment variable.'))
      .default([])
      .describe('Environment variables that ${agent.environment} shows; no other is in view.'),
  },
);
