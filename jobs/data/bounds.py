"""What data.sh reads no more of, in one place: compared with what a file is or claims before anything of that size is
read. docs/reliability.md has the table; archives and sets have the bounds of `rueda train --data`."""

MEMBERS = 10_000  # of an archive
UNPACKED_BYTES = 2_200_000_000  # of an archive, with headers
HEADER_BYTES = 1 << 20  # in one piece: a member's long name, for example
MEMBER_BYTES = 200_000_000  # of a file of CIFAR-100
DOWNLOAD_BYTES = 400_000_000  # of an archive of CIFAR-10
META_BYTES = 10_000  # of CIFAR-10's file of names
ARRAY_BYTES = 1 << 33  # of NumPy's arrays, unpacked into memory
PICTURE_BYTES = 200_000_000
PIXELS = 50_000_000  # of a picture
NAMES_BYTES = 1 << 20  # of --names
