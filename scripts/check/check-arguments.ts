import { parseArgs } from 'node:util';
import { err, ok, type Result } from '../../telltale/src/lib/errors.ts';
import { suggest } from '../../telltale/src/lib/nearest.ts';
import { readSeed } from './seed.ts';

export interface CheckArguments {
  readonly mode: 'run' | 'list' | 'help';
  /** The stages to run, in the order of the list. */
  readonly stages: readonly string[];
  /** Whether snapshots are written anew. */
  readonly update: boolean;
  /** Whether a test that cannot run here has failed. */
  readonly strict: boolean;
  /** Of random tests, where not the commit's own. */
  readonly seed: number | undefined;
  /** Parts of test files' paths; only files that hold one of them run. */
  readonly filters: readonly string[];
}

export const HELP = `npm test                          the whole check
npm test -- --list                its stages
npm test -- --only types,imports    some of them
npm test -- --only unit clock     only test files whose path holds "clock"
npm test -- --update              write snapshots anew
npm test -- --strict              a test that lacks a server has failed, not been skipped
npm test -- --seed 7              random tests try what this seed brings, not the commit's own
`;

/** Reads what stands behind `npm test --`. The error is a sentence for the person who typed it. */
export function readArguments(
  argv: readonly string[],
  known: readonly string[],
  takeFilters: ReadonlySet<string>,
): Result<CheckArguments, string> {
  const parsed = parse(argv);
  if (!parsed.ok) return parsed;
  const { values, positionals: filters } = parsed.value;
  const mode = values.help ? 'help' : values.list ? 'list' : 'run';
  const only = values.only?.flatMap((names) => names.split(',')).map((name) => name.trim());
  const unknown = only?.find((name) => !known.includes(name));
  if (unknown !== undefined)
    return err(`There is no stage "${unknown}". ${suggest(unknown, known, 'Stages')}`);
  const stages = known.filter((name) => only?.includes(name) ?? true);
  const deaf = stages.find((name) => !takeFilters.has(name));
  if (filters.length > 0 && deaf !== undefined) {
    return err(
      `"${filters.join(' ')}" chooses test files, and the stage "${deaf}" has none. Name stages that do: --only ${[...takeFilters].join(',')}.`,
    );
  }
  const seed = readSeed(values.seed);
  if (!seed.ok) return seed;
  const { update = false, strict = false } = values;
  return ok({ mode, stages, update, strict, seed: seed.value, filters });
}

function parse(argv: readonly string[]) {
  try {
    return ok(
      parseArgs({
        args: [...argv],
        allowPositionals: true,
        options: {
          only: { type: 'string', multiple: true },
          list: { type: 'boolean' },
          help: { type: 'boolean', short: 'h' },
          update: { type: 'boolean', short: 'u' },
          strict: { type: 'boolean' },
          seed: { type: 'string' },
        },
      }),
    );
  } catch (error) {
    // Node goes on about positional arguments, without an end to its sentence.
    const [said] = String(error instanceof Error ? error.message : error).split(/\.(?: To specify|$)/);
    return err(`${said}. "npm test -- --help" lists the options.`);
  }
}
