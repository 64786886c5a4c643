import { RuntimeError } from '../../kernel/runtime-error.ts';
import { fileFailed } from '../../targets/builtin/filesystem/file-errors.ts';

/** What the system says of the file or folder of a source. Whoever wrote the feed has no operations to look with. */
export function sourceFailed(shown: string, thrown: unknown): RuntimeError {
  const failed = fileFailed(shown, thrown);
  if (failed === thrown || failed.code !== 'file_missing') return failed;
  return new RuntimeError(failed.code, failed.message, {
    hint: 'Correct "source.name" of the feed. Paths are relative to the folder of the agent.',
    cause: thrown,
  });
}
