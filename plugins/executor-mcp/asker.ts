import { Unanswered, type JsonObject, type Question, type Task, type TaskObserver } from '../../kernel/index.ts'
import type { Ask } from './client/questions.ts'
import type { Ending } from './ending.ts'

/** Asks the caller of a run what its server asks. Who follows the run sees what was not answered. */
export function asker ({ skill, tool }: Task, observer: TaskObserver, ending: Ending): Ask {
  return async (question: Question, signal: AbortSignal): Promise<JsonObject> => {
    const resume = ending.pause()
    try {
      if (observer.ask === undefined) throw new Unanswered('nobody can be asked')
      return await observer.ask(question, AbortSignal.any([signal, ending.signal]))
    } catch (error) {
      if (error instanceof Unanswered) {
        observer.log('warn', `${skill.name}:${tool.name} asked ${whom[question.kind]}: ${error.message}`)
      }
      throw error
    } finally {
      resume()
    }
  }
}

const whom: Readonly<Record<Question['kind'], string>> = {
  form: 'the user', link: 'the user', model: 'the model', roots: 'for folders'
}
