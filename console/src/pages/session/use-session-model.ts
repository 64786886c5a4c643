import { useFollowedModel } from '../log/use-followed-model.ts';
import { createSessionModel } from './model/session-model.ts';

export const useSessionModel = (id: string) => useFollowedModel(createSessionModel, id);
