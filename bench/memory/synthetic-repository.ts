import { createHash } from 'node:crypto';
import type { FileRecord, GraphCall, GraphImport, GraphSymbol } from '../../telltale/src/store/graph.ts';

/** Words that names of code are made of; the first are the most common, as in real repositories. */
const WORDS = (
  'get create session store read write graph query parse open close file list state event stream token limit error ' +
  'result action turn model prompt feed cache index table row key set make find load save start stop run call node edge ' +
  'path line text chunk batch queue thread worker clock time check expect build format render view route server client ' +
  'request response message handler context config option setting schema kind member field method module import export ' +
  'scheduler trigger variable artifact verifier reviewer snapshot checkpoint lease epoch inbox dialect tokenizer budget ' +
  'migration tombstone watermark backoff jitter envelope fingerprint manifest quota retry sandbox telemetry span metric'
).split(' ');
const KINDS = ['function', 'function', 'interface', 'class', 'method', 'method', 'type', 'variable'] as const;

/** Numbers that look random and are the same in every run. */
export function createDice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

/** A repository of that many files as a parser would give it: names of two to four words, calls across imports. */
export function syntheticRepository(files: number, symbols: number, calls: number) {
  const dice = createDice(4711);
  const word = () => WORDS[Math.floor(dice() * dice() * WORDS.length)] ?? 'get';
  const name = () => {
    const [first, ...rest] = Array.from({ length: 2 + Math.floor(dice() * 3) }, word);
    return first + rest.map(capital).join('');
  };
  const paths = Array.from(
    { length: files },
    (_, n) => `src/${word()}/${word()}/${word()}-${word()}-${n}.ts`,
  );
  const defined = paths.map(() => Array.from({ length: symbols }, name));

  const record = (n: number): FileRecord => {
    const path = paths[n] ?? '';
    const targets = Array.from({ length: 8 }, () => Math.floor(dice() * dice() * files));
    const imports: (GraphImport & { target?: string })[] = targets.map((target, at) => ({
      specifier: `../${paths[target]}`,
      line: at + 1,
      names: (defined[target] ?? []).slice(0, 3),
      target: paths[target] ?? '',
    }));
    imports.push({ specifier: 'node:path', line: 9, names: ['join', 'resolve'] });
    const own: GraphSymbol[] = (defined[n] ?? []).map((one, at) => {
      const kind = KINDS[Math.floor(dice() * KINDS.length)] ?? 'function';
      return {
        name: kind === 'class' || kind === 'interface' ? capital(one) : one,
        kind,
        line: 10 + at * 12,
        endLine: 20 + at * 12,
        signature: `export ${kind} ${one}(${word()}: ${capital(word())}, ${word()}: string): ${capital(name())}`,
        exported: at % 3 !== 0,
        ...(kind === 'method' && at > 0 ? { container: at - 1 } : {}),
        ...(at % 2 === 0
          ? { doc: `${capital(word())} the ${word()} of a ${word()} before the ${word()}.` }
          : {}),
      };
    });
    const made: GraphCall[] = Array.from({ length: calls }, (_, at) => {
      const roll = dice();
      const taken = defined[targets[at % targets.length] ?? 0] ?? [];
      const called =
        roll < 0.5 ? taken[at % 3] : roll < 0.7 ? defined[n]?.[Math.floor(dice() * symbols)] : word();
      return {
        name: called ?? 'get',
        line: 11 + at * 6,
        from: at % symbols,
        ...(roll < 0.7 ? {} : { receiver: word() }),
      };
    });
    return {
      path,
      hash: createHash('sha256').update(path).digest('hex'),
      size: 4000,
      mtimeMs: 1_790_000_000_000.5,
      readAtMs: 1_790_000_001_000,
      language: 'typescript',
      symbols: own,
      imports,
      calls: made,
    };
  };
  return { paths, defined, record, words: WORDS };
}
