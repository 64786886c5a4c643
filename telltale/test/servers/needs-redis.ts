import { findProgram } from './find-program.ts';
import { needsProgram } from './needs-program.ts';

export const hasRedis: boolean = findProgram('redis-server') !== undefined;

export const needsRedis = (): void =>
  needsProgram(hasRedis, {
    what: 'redis-server is not installed',
    mend: 'apt-get install redis-server (or: brew install redis)',
  });
