import type { SqlDatabase } from './sql-database.ts';
import { ONE_STATEMENT, statementRefused } from './sql-errors.ts';

const TRANSACTIONS =
  'It would hold for the calls of others on the same connection. The operation "transaction" carries out several statements, or none.';
const SETTINGS = 'It would hold for the calls of others on the same connection. Leave it out.';
const FILES = 'A relic has one file, the one in its "connection". Another file needs a relic of its own.';

/** Statements that reach beyond the call they stand in, by their first word. */
const REFUSED: Readonly<Record<SqlDatabase['dialect'], ReadonlyMap<string, string>>> = {
  sqlite: new Map([
    ...words('BEGIN COMMIT END ROLLBACK SAVEPOINT RELEASE', TRANSACTIONS),
    ...words('ATTACH DETACH', FILES),
  ]),
  postgres: new Map([
    ...words('BEGIN START COMMIT END ROLLBACK ABORT SAVEPOINT RELEASE', TRANSACTIONS),
    ...words('SET RESET DISCARD PREPARE DEALLOCATE LISTEN UNLISTEN DECLARE FETCH MOVE CLOSE LOAD', SETTINGS),
    ...words('COPY', 'Use INSERT and SELECT.'),
  ]),
};

/** Those that only tell something. */
const PRAGMAS: ReadonlySet<string> = new Set(
  'table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list foreign_key_check integrity_check quick_check user_version'.split(
    ' ',
  ),
);

/** Programs in a statement, which can do what a transaction that only reads does not see: COPY to a file or a program. */
const NOT_READING: ReadonlySet<string> = new Set(['DO', 'CALL']);

/** Throws for what would leave the database, or the call it stands in; `reads`: and for what is no reading. */
export function checkStatement(
  what: string,
  dialect: SqlDatabase['dialect'],
  sql: string,
  reads = false,
): void {
  const start = skipBlanks(sql, dialect === 'postgres');
  const word = /^[a-z_]*/i.exec(sql.slice(start, start + 40))?.[0].toUpperCase() ?? '';
  if (start === sql.length || sql[start] === ';') throw statementRefused(what, 'is empty', ONE_STATEMENT);
  const hint = REFUSED[dialect].get(word);
  if (hint !== undefined) throw statementRefused(what, `begins with ${word}`, hint);
  if (reads && NOT_READING.has(word))
    throw statementRefused(
      what,
      `begins with ${word}, and a query only reads`,
      'Use the operation "execute".',
    );
  if (dialect === 'postgres') return;
  const rest = sql.slice(start);
  if (word === 'VACUUM' && !/^vacuum\s*;?\s*$/i.test(rest))
    throw statementRefused(what, 'is a VACUUM with more behind it', FILES);
  if (word === 'PRAGMA') {
    const name = /^pragma\s+(?:\w+\s*\.\s*)?(\w+)/i.exec(rest)?.[1]?.toLowerCase() ?? '';
    if (!PRAGMAS.has(name))
      throw statementRefused(what, `is the pragma "${name}"`, `Allowed: ${[...PRAGMAS].join(', ')}.`);
  }
}

function words(list: string, hint: string): readonly (readonly [string, string])[] {
  return list.split(' ').map((word) => [word, hint] as const);
}

/** Where the first word begins: behind blanks and comments, which may stand inside each other in PostgreSQL. */
function skipBlanks(sql: string, commentsNest: boolean): number {
  let at = 0;
  for (;;) {
    while (/[\s\ufeff]/.test(sql[at] ?? '')) at++;
    if (sql.startsWith('--', at)) {
      const end = sql.indexOf('\n', at);
      at = end === -1 ? sql.length : end + 1;
    } else if (sql.startsWith('/*', at)) at = commentEnd(sql, at, commentsNest);
    else return at;
  }
}

function commentEnd(sql: string, start: number, nests: boolean): number {
  const marks = /\/\*|\*\//g;
  marks.lastIndex = start + 2;
  let depth = 1;
  for (let mark = marks.exec(sql); mark !== null; mark = marks.exec(sql)) {
    if (mark[0] === '*/') depth--;
    else if (nests) depth++;
    if (depth === 0) return marks.lastIndex;
  }
  return sql.length;
}
