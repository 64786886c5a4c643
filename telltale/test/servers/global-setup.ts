import type { TestProject } from 'vitest/node';
import { openServerBroker } from './server-broker.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where tests ask for servers. */
    serverBroker: number;
  }
}

/** Starts no server: that is left to the first test that wants one. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const broker = await openServerBroker();
  project.provide('serverBroker', broker.port);
  return broker.close;
}
