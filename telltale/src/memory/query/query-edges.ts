import type { LoadTokenizer } from '../../kernel/tokenizer.ts';
import type { MemoryView } from '../memory.ts';

export interface QueryDeps {
  /** Absent: all may be seen. */
  readonly view?: MemoryView | undefined;
  /** Asked for only where an answer may be too long. */
  readonly tokenizer: LoadTokenizer;
  /** Lines of a file of the graph, from 1 on, both included; undefined where it cannot be read. */
  readonly readLines: (path: string, from: number, to: number) => Promise<readonly string[] | undefined>;
}
