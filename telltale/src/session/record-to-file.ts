import { mkdir, rename, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import type { Model } from '../models/model.ts';
import { recordModel } from '../models/record.ts';
import { loadScript } from '../models/scripted/load-script.ts';

/** Records a model's turns in a file; a session that is resumed goes on in the one it began. */
export function recordToFile(model: Model, file: string, clock: Clock): Model {
  return recordModel(model, {
    clock,
    // Never half a script: whoever reads it meanwhile sees the one before.
    async write(script) {
      await mkdir(dirname(file), { recursive: true });
      const beside = `${file}.new`;
      await writeFile(beside, script);
      await rename(beside, file);
    },
    async before(turn) {
      if (turn === 1) return undefined;
      const there = await stat(file).catch(() => undefined);
      return there === undefined ? undefined : loadScript(file, dirname(file));
    },
  });
}
