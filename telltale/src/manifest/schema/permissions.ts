import { z } from 'zod';
import { nearest } from '../../lib/nearest.ts';
import { choice } from './choice.ts';
import { closed } from './closed.ts';
import { isMap } from './plain-values.ts';
import { showValue } from './show-value.ts';
import { nonEmptyText } from './values.ts';

/** The entries of `allow`, `ask` and `deny`, whichever form the manifest uses. */
export interface Rules {
  readonly allow: readonly string[];
  readonly ask: readonly string[];
  readonly deny: readonly string[];
}

/** In a list: everything that no other entry names. */
export const EVERYTHING = '*';

interface RulesOptions {
  readonly key: string;
  readonly entry: string;
  readonly describe: string;
  /** The default of a missing list in the map form. */
  readonly absent: Partial<Rules>;
}

const WORDS = ['allow', 'ask', 'deny'] as const;

/** A word for everything, a list of what is allowed, or a map of the three lists. */
function rules({ key, entry, describe, absent }: RulesOptions) {
  const word = z.enum(WORDS).describe('For everything.');
  const list = z.array(nonEmptyText(entry)).describe('What is allowed.');
  const map = closed(
    {
      title: `"${key}"`,
      atLeastOne: [['allow', 'ask', 'deny']],
      slips: {
        allowed: 'Use "allow".',
        denied: 'Use "deny".',
        block: 'Use "deny".',
        default: `For everything that no other entry names, write ask: ["${EVERYTHING}"].`,
      },
    },
    {
      allow: z.array(nonEmptyText(entry)).optional().describe('Without asking.'),
      ask: z.array(nonEmptyText(entry)).optional().describe("After a person's approval."),
      deny: z.array(nonEmptyText(entry)).optional().describe('Never: beats the other lists.'),
    },
  );
  const refused = (value: unknown) => {
    const near = typeof value === 'string' ? nearest(value, WORDS) : undefined;
    return {
      refused: {
        code: typeof value === 'string' ? 'not_allowed' : 'wrong_type',
        message: `"${key}" cannot be ${showValue(value)}.`,
        hint: `${near === undefined ? '' : `Did you mean "${near}"? `}Write allow, ask or deny, a list of what is allowed, or a map with a list for each of the three.`,
      },
    };
  };
  return choice([word, list, map], (value) => {
    if (Array.isArray(value)) return list;
    if (isMap(value)) return map;
    return WORDS.some((each) => each === value) ? word : refused(value);
  })
    .transform((given): Rules => {
      if (typeof given === 'string') return { allow: [], ask: [], deny: [], [given]: [EVERYTHING] };
      const { allow, ask, deny }: { readonly [Key in keyof Rules]?: readonly string[] | undefined } = isMap(
        given,
      )
        ? given
        : { allow: given as readonly string[] };
      // With "*" allowed, an entry covers everything.
      const absentAsk = allow?.includes(EVERYTHING) === true ? [] : absent.ask;
      return {
        allow: allow ?? absent.allow ?? [],
        ask: ask ?? absentAsk ?? [],
        deny: deny ?? absent.deny ?? [],
      };
    })
    .describe(describe);
}

export const permissions = closed(
  {
    title: '"permissions"',
    description: 'What actions of this agent may touch.',
    slips: {
      filesystem: 'Use "paths" for folders that may be read and written.',
      files: 'Use "paths" for folders that may be read and written.',
      hosts: 'Use "network" for hosts that may be reached.',
      env: 'Use "environment" for environment variables that are visible.',
      secrets: 'Use "environment" for environment variables that are visible.',
      tools: 'For a tool that needs a person\'s approval, write "approval: always" in the tool.',
    },
  },
  {
    paths: rules({
      key: 'paths',
      entry: 'A folder, a file or a glob.',
      describe: 'Folders and files that may be read and written; what is not named may not.',
      absent: { allow: ['.'] },
    }).prefault(['.']),
    manifests: z
      .array(nonEmptyText('A folder, a file or a glob.'))
      .prefault([])
      .describe(
        'Manifests and modules that the tool "filesystem" may write, each change after a person\'s approval.',
      ),
    network: rules({
      key: 'network',
      entry: 'A host, with or without a port.',
      describe: 'Hosts that may be reached; what is not named may not.',
      absent: {},
    }).prefault([]),
    shell: rules({
      key: 'shell',
      entry: 'A command line; "*" stands for the rest of a word, or at its end for further words.',
      describe: 'Command lines of the tool "shell"; what is not named is asked for.',
      absent: { ask: [EVERYTHING] },
    }).prefault('ask'),
    approval: z
      .enum(['always', 'strict'])
      .optional()
      .describe(
        'strict: a command that has to be approved is refused where it may run files that an approval does not cover.',
      ),
    sandbox: z
      .enum(['auto', 'require', 'off'])
      .default('auto')
      .describe('Whether commands run under bubblewrap: where it is there, always or not at all.'),
    limits: closed(
      {
        title: '"limits"',
        description: 'What each command in the sandbox may use, with all the processes that it starts.',
        slips: { pids: 'Use "processes".', ram: 'Use "memory".' },
      },
      {
        processes: z
          .int()
          .min(1)
          .max(1_000_000)
          .optional()
          .describe('Processes and threads at a time; 1024 if absent.'),
        memory: z
          .string()
          .regex(/^[1-9]\d{0,5}[MG]$/)
          .optional()
          .describe('Main memory, as "512M" or "4G"; 4G if absent.'),
      },
    ).optional(),
    artifacts: z
      .array(z.enum(['read', 'write']))
      .prefault([])
      .describe('What may be done with decision artifacts.'),
    environment: z
      .array(nonEmptyText('The name of an environment variable.'))
      .prefault([])
      .describe('Environment variables that "agent.environment" shows; no other is in view.'),
  },
);
