// The trivial tool, as a Piscina task.
export default ({ text }) => text
