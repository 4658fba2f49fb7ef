/** Why a container can't run: the message says what happened and what to do. */
export class EngineFault extends Error {}
